/**
 * An operator who upgrades the running cluster as the operators' page says: stops each member, starts it as today's build,
 * one after another, and finalizes through one node; or asks to finalize without a look at the others. A node that refuses
 * to start as an older build, because the upgrade is finalized, is started as today's. After the calm every member gets
 * today's build. The operator then asks all what they state, and finalizes for good.
 */
import type { Io } from '../../engine/io/io.ts';
import { sleep } from '../../engine/io/clock.ts';
import { ConnectError } from '../../engine/io/network.ts';
import { messageVersions } from '../../engine/peer/wire/versions.ts';
import type { DetectorDisturbance } from '../check/cluster/failure-detector.ts';
import type { FinalizeCall, OlderStart, UpgradeEvidence, VersionStatement } from '../evidence/upgrades.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import { HttpClient } from '../world/http/http-client.ts';
import type { HttpClientResponse } from '../world/http/http-client.ts';
import type { World } from '../world/world.ts';

/** A member may take 5 s to answer the node that finalizes. */
const timeoutUs = 8_000_000;
const lookAgainUs = 250_000;
/** How long one node's stop and start may take before the operator goes on to the next. */
const restartUsMax = 2_500_000;
const stepUs = 50_000;
const newest = messageVersions.max;

/** What the operator works with. */
export interface UpgradeOperatorContext {
  readonly world: World;
  readonly cluster: Cluster;
  readonly token: string | undefined;
  /** The cluster's minimum at the start. */
  readonly first: number;
  /** The members at the start. */
  readonly members: readonly string[];
  /** Nodes whose disks may forget what they have recorded. */
  readonly forgetful: readonly string[];
}

/** What `GET /upgrade` and `POST /upgrade/finalize` answer. */
interface UpgradeAnswer {
  readonly version?: { readonly minimum: number };
  readonly code?: string;
  readonly detail?: string;
}

/** One incarnation of a build, from its start to the next start on the node. */
interface BuildRun extends OlderStart {
  toUs: number;
}

/** The operator of one run, and the records. */
export class UpgradeOperator {
  readonly #context: UpgradeOperatorContext;
  readonly #calls: FinalizeCall[] = [];
  readonly #starts: OlderStart[] = [];
  readonly #runs: BuildRun[] = [];
  #settled: readonly VersionStatement[] = [];
  #final: readonly VersionStatement[] = [];
  #last: FinalizeCall | undefined;
  /** When the first call was sent. */
  #askedUs = Infinity;

  constructor(context: UpgradeOperatorContext) {
    this.#context = context;
    const { world, cluster } = context;
    world.trace.on('node.started', ({ host: node, atUs }) => {
      if (!cluster.names.includes(node)) return;
      const version = this.#versionOf(node);
      const before = this.#runs.findLast((run) => run.node === node);
      if (before !== undefined) before.toUs = atUs;
      this.#runs.push({ node, atUs, version, toUs: Infinity });
      if (version >= newest) return;
      this.#starts.push({ node, atUs, version });
    });
    cluster.onStartRefused(({ node, code }) => {
      if (code === 'FormatUnsupported' && this.#askedUs < Infinity) cluster.changeBuild(node, newest);
    });
  }

  /** Undefined if nothing was asked. */
  get evidence(): UpgradeEvidence | undefined {
    const { first, forgetful } = this.#context;
    if (this.#askedUs === Infinity) return undefined;
    return {
      ...{ first, newest, forgetful, calls: this.#calls, starts: this.#starts },
      ...{ settled: this.#settled, final: this.#final, last: this.#last },
    };
  }

  /**
   * A node that runs a build older than the minimum is refused by peers that have recorded it: no heartbeat reaches it.
   * It runs so only if a call was left open, or if its disk forgot the record. Other nodes are undisturbed.
   */
  get disturbances(): readonly DetectorDisturbance[] {
    const { forgetful } = this.#context;
    return this.#runs.flatMap(({ node, atUs, toUs, version }) => {
      const raising = this.#raising(version).filter(
        ({ outcome }) => outcome !== 'finalized' || forgetful.includes(node),
      );
      const sinceUs = Math.max(atUs, Math.min(Infinity, ...raising.map(({ invokedUs }) => invokedUs)));
      return sinceUs < toUs ? [{ node, fromUs: sinceUs, toUs, away: false }] : [];
    });
  }

  /** Whether the start of a build of that version may be refused then, because a member has recorded a higher minimum. */
  mayRefuse(atUs: number, version: number): boolean {
    return this.#raising(version).some(({ invokedUs }) => invokedUs <= atUs);
  }

  /** The calls that may have raised the minimum above the version. A refused call changes nothing. */
  #raising(version: number): readonly FinalizeCall[] {
    return this.#calls.filter(({ outcome, wanted, minimum }) => {
      if (outcome === 'refused' || outcome === 'unsent') return false;
      // The asked node may have got another build before it took the call.
      return (outcome === 'finalized' ? Math.max(minimum ?? wanted, wanted) : newest) > version;
    });
  }

  /** Finalizes through the node; `rolled`: after all members have got today's build. */
  async upgrade(id: string, node: string, rolled: boolean, io: Io): Promise<void> {
    if (rolled) await this.#roll(io);
    this.#calls.push(await this.#finalize(id, node, io));
  }

  /** Every member gets today's build, if the operator has asked to finalize. Those that are down start as such. */
  calm(spawn: (task: (io: Io) => Promise<void>) => void): void {
    if (this.#askedUs === Infinity) return;
    const { cluster } = this.#context;
    for (const name of cluster.names) if (!cluster.isUp(name)) cluster.changeBuild(name, newest);
    spawn((io) => this.#roll(io));
  }

  /** Asks all members until they agree, or `stopped`; then finalizes, and asks again. */
  async lookAfter(io: Io, stopped: () => boolean): Promise<void> {
    if (this.#askedUs === Infinity) return;
    while (this.#older.length > 0 && !stopped()) await this.#roll(io);
    this.#settled = await this.#untilAgreed(io, stopped);
    const [node = ''] = this.#context.cluster.members;
    do {
      this.#last = await this.#finalize('after the calm', node, io);
      if (this.#last.outcome !== 'finalized') await sleep(io.clock, lookAgainUs);
    } while (this.#last.outcome !== 'finalized' && !stopped());
    this.#final = await this.#untilAgreed(io, stopped);
  }

  get #older(): readonly string[] {
    return this.#context.cluster.members.filter((name) => this.#versionOf(name) < newest);
  }

  #versionOf(name: string): number {
    return this.#context.cluster.configOf(name).peerVersion;
  }

  async #roll(io: Io): Promise<void> {
    for (const name of this.#older) await this.#replaceBuild(name, io);
    const { cluster } = this.#context;
    // A spare that joins later joins as today's build.
    for (const name of cluster.names) if (!cluster.isUp(name)) cluster.changeBuild(name, newest);
  }

  async #replaceBuild(name: string, io: Io): Promise<void> {
    const { cluster, world } = this.#context;
    const endUs = world.nowUs + restartUsMax;
    let begun = false;
    while (world.nowUs < endUs) {
      if (this.#versionOf(name) >= newest && cluster.serves(name)) return;
      if (!cluster.isUp(name)) cluster.changeBuild(name, newest);
      else if (!begun)
        begun = cluster.beginStop(name, () => {
          cluster.changeBuild(name, newest);
          cluster.start(name);
        });
      await sleep(io.clock, stepUs);
    }
  }

  async #finalize(id: string, node: string, io: Io): Promise<FinalizeCall> {
    const { world } = this.#context;
    const invokedUs = world.nowUs;
    this.#askedUs = Math.min(this.#askedUs, invokedUs);
    const wanted = this.#versionOf(node);
    const before = this.#lacking(wanted);
    const { outcome, detail, minimum } = await this.#outcomeOf(node, io);
    const after = new Set(this.#lacking(wanted));
    const lacking = before.filter((one) => after.has(one)).map((one) => one.split(' ')[0] ?? '');
    return { id, node, invokedUs, completedUs: world.nowUs, outcome, detail, minimum, wanted, lacking };
  }

  /** The members from the start that are down or run a build that lacks the version, each with its incarnation. */
  #lacking(wanted: number): readonly string[] {
    const { cluster, members } = this.#context;
    if (cluster.hasLeaving) return [];
    return members
      .filter((name) => cluster.members.includes(name))
      .filter((name) => !cluster.isUp(name) || this.#versionOf(name) < wanted)
      .map((name) => `${name} ${cluster.host(name).lives}`);
  }

  async #outcomeOf(node: string, io: Io): Promise<Pick<FinalizeCall, 'outcome' | 'detail' | 'minimum'>> {
    try {
      const { status, body } = await this.#ask(node, 'POST', '/upgrade/finalize', io);
      const { version, code, detail = '' } = JSON.parse(body.toString('utf8')) as UpgradeAnswer;
      if (status === 200) return { outcome: 'finalized', detail, minimum: version?.minimum };
      const outcome = status === 409 ? 'refused' : code === 'NoQuorum' ? 'partly' : 'unknown';
      return { outcome, detail: `${status} ${detail}`, minimum: undefined };
    } catch (error) {
      const outcome = error instanceof ConnectError ? 'unsent' : 'unknown';
      return { outcome, detail: String(error), minimum: undefined };
    }
  }

  async #untilAgreed(io: Io, stopped: () => boolean): Promise<readonly VersionStatement[]> {
    for (;;) {
      const stated: VersionStatement[] = [];
      for (const node of this.#context.cluster.members) stated.push(await this.#statementOf(node, io));
      const [first] = stated;
      const isAgreed = stated.every(({ minimum }) => minimum !== undefined && minimum === first?.minimum);
      if (isAgreed || stopped()) return stated;
      await sleep(io.clock, lookAgainUs);
    }
  }

  async #statementOf(node: string, io: Io): Promise<VersionStatement> {
    const { world } = this.#context;
    try {
      const { body } = await this.#ask(node, 'GET', '/upgrade', io);
      const { version } = JSON.parse(body.toString('utf8')) as UpgradeAnswer;
      return { node, atUs: world.nowUs, minimum: version?.minimum };
    } catch {
      // The node is down or too slow: it has stated nothing.
      return { node, atUs: world.nowUs, minimum: undefined };
    }
  }

  #ask(node: string, method: 'GET' | 'POST', path: string, io: Io): Promise<HttpClientResponse> {
    const { cluster, token } = this.#context;
    return new HttpClient(io, token).request(cluster.address(node, 'http'), { method, path }, timeoutUs);
  }
}
