/**
 * A cluster whose disk operations are counted while a play makes it save something. One operation can be struck: the
 * process or the machine dies at it, it fails, or it takes long. Two runs of one play are equal up to the strike.
 */
import { present } from '../../engine/base/assert.ts';
import type { DiskOperation } from '../../engine/io/disk.ts';
import type { PlanNode } from '../plan/plan-node.ts';
import { Cluster } from '../world/cluster/cluster.ts';
import type { Leaks } from '../world/cluster/host.ts';
import { namesOfLeaks } from '../world/cluster/host.ts';
import type { HttpClient } from '../world/world.ts';
import { World } from '../world/world.ts';
import { workFiles } from '../workload/work-modules.ts';

/** How an operation of a disk is struck; `strikeTexts` says what each does. */
export const stepStrikes = [
  'crash',
  'power-loss',
  'blackout',
  'full-disk',
  'failing-write',
  'failing-sync',
  'failing-reads',
  'slow-disk',
] as const;
/** One of `stepStrikes`. */
export type StepStrike = (typeof stepStrikes)[number];

/** What each strike does, for people. */
export const strikeTexts: Readonly<Record<StepStrike, string>> = {
  crash: 'the process dies right after the operation and never learns that it was done',
  'power-loss': 'the same, and everything that is not durable is lost',
  blackout: 'the same on every machine at this moment',
  'full-disk': 'this write, and every one for 300 ms from then on, finds no space',
  'failing-write': 'this write fails in the middle',
  'failing-sync': 'this sync fails and loses what it covered',
  'failing-reads': 'this read, and every one of the disk for 300 ms from then on, fails',
  'slow-disk': 'the operation takes 1.5 s',
};

/** One operation of a node's disk, by its name in the play: the `nth` of its kind on the file. */
export interface DurableStep {
  readonly node: string;
  /** `write`, `sync`, `rename` and so on. */
  readonly operation: string;
  readonly path: string;
  readonly nth: number;
}

/** A step and its strike. */
export interface StepPoint extends DurableStep {
  readonly strike: StepStrike;
}

/** `n1 sync store/00000001.log 3 power-loss`. */
export function describeStep({ node, operation, path, nth, strike }: StepPoint): string {
  return `${node} ${operation} ${path} ${nth} ${strike}`;
}

/** The answer to a client; status 0: none came. */
export interface StepAnswer {
  readonly status: number;
  readonly body: string;
}

/** One second of virtual time, in microseconds. */
export const second = 1_000_000;
const downUs = 400_000;
const fullUs = 300_000;
const unreadableUs = 300_000;
const stopUsMax = 30 * second;
const slowUs = 1_500_000;

/** Operations that end with these events, by their names in a step. */
const endings: Readonly<Record<string, string>> = {
  'disk.file.written': 'write',
  'disk.file.synced': 'sync',
  'disk.file.truncated': 'truncate',
  'disk.name.renamed': 'rename',
  'disk.name.removed': 'remove',
  'disk.directory.synced': 'syncDirectory',
};
/** Strikes at the end of an operation; the node never learns of it. */
const deadly = ['crash', 'power-loss', 'blackout'] as const;
const slowed: readonly DiskOperation[] = ['write', 'sync', 'truncate', 'rename', 'remove', 'syncDirectory'];

/** Events by which a node reports damage, or the loss of something durable: no strike on writes may cause one. */
const reports = [
  'store.damage.found',
  'store.set.aside',
  'props.records.lost',
  'membership.members.rejected',
];

/** The cluster of one run. */
export class StepHarness {
  readonly world: World;
  readonly cluster: Cluster;
  /** The points that this run can be struck at, in their order. */
  readonly points: StepPoint[] = [];
  /** How often each event of the engine happened. */
  readonly events = new Map<string, number>();
  readonly reported: string[] = [];
  /** What nodes held that were stopped in order. */
  readonly leaks: string[] = [];
  struck = false;
  #counting = false;
  readonly #point: StepPoint | undefined;
  readonly #concerns: (path: string) => boolean;
  readonly #counts = new Map<string, number>();
  readonly #failed = new Set<string>();
  readonly #client: HttpClient;

  /** `concerns`: the files whose operations are steps. Without a point nothing is struck, and the points are listed. */
  constructor(
    seed: string,
    nodes: readonly PlanNode[],
    settings: Readonly<Record<string, unknown>>,
    concerns: (path: string) => boolean,
    point: StepPoint | undefined,
  ) {
    this.world = new World({ seed, logLevel: 'debug', wasm: { files: workFiles } });
    this.cluster = new Cluster(this.world, nodes, settings);
    this.#point = point;
    this.#concerns = concerns;
    for (const node of this.cluster.names) this.#watch(node);
    for (const [event, operation] of Object.entries(endings)) {
      this.world.trace.on(event, ({ host, fields }) => {
        const path = String(fields['what']);
        if (!this.cluster.names.includes(host) || !this.#concerns(path)) return;
        if (this.#isStruck(host, operation, path, deadly)) this.#kill(host);
      });
    }
    this.world.trace.on('*', ({ host, name, fields, level }) => {
      if (level === undefined) return;
      this.events.set(name, (this.events.get(name) ?? 0) + 1);
      if (reports.includes(name)) this.reported.push(`${host}: ${name} ${JSON.stringify(fields)}`);
      if (name === 'store.failed' && fields['full'] !== true)
        this.#failed.add(`${host}/${this.cluster.host(host).lives}`);
    });
    const client = this.world.addHost('client');
    client.boot();
    this.#client = this.world.httpClient(client);
  }

  /** Operations from now on are steps, until `rest`. */
  count(): void {
    this.#counting = true;
  }

  rest(): void {
    this.#counting = false;
  }

  pass(us: number): Promise<void> {
    return this.world.run({ untilUs: this.world.nowUs + us });
  }

  /** Lets time pass until `holds` returns true or the budget is spent; resolves with whether it does. */
  async until(holds: () => boolean, budgetUs: number): Promise<boolean> {
    await this.world.runUntil(holds, budgetUs);
    return holds();
  }

  /** Starts nodes and lets them find each other. */
  async start(names: readonly string[]): Promise<void> {
    for (const name of names) this.cluster.start(name);
    if (!(await this.until(() => names.every((name) => this.cluster.serves(name)), 20 * second)))
      throw new Error(`${names.join(' ')} did not start`);
    await this.pass(second);
  }

  /** Ends the strike, and waits until every member serves; resolves with the names of those that do not. */
  async heal(): Promise<readonly string[]> {
    this.rest();
    await this.pass(downUs + fullUs);
    const { cluster } = this;
    for (const name of cluster.names) cluster.host(name).disk.heal();
    for (const name of cluster.members) {
      cluster.start(name);
      // Its disk failed: an operator starts it again.
      if (this.#failed.has(`${name}/${cluster.host(name).lives}`)) {
        cluster.beginStop(name, (left) => {
          this.#noteLeaks(name, left);
          cluster.start(name);
        });
      }
    }
    const missing = (): readonly string[] => cluster.members.filter((name) => !cluster.serves(name));
    await this.pass(second);
    await this.until(() => missing().length === 0, 60 * second);
    return missing();
  }

  /** Stops every node in order, and notes what each still held. */
  async stop(): Promise<void> {
    for (const [name, left] of await this.cluster.stopAll(stopUsMax)) {
      if (left === 'stuck') this.leaks.push(`${name} does not stop`);
      else this.#noteLeaks(name, left);
    }
  }

  #noteLeaks(name: string, left: Leaks): void {
    const names = namesOfLeaks(left);
    if (names.length > 0) this.leaks.push(`${name} stopped and left behind: ${names.join(', ')}`);
  }

  /** A request to a node; resolves once it is answered. */
  async ask(
    node: string,
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    body?: string | Uint8Array,
    type = 'text/plain',
  ): Promise<StepAnswer> {
    const request = {
      method,
      path,
      ...(body === undefined ? {} : { body, headers: { 'Content-Type': type } }),
    };
    const asking = this.#client.request(this.cluster.address(node, 'http'), request, 5 * second).then(
      (answer) => ({ status: answer.status, body: answer.body.toString() }),
      () => ({ status: 0, body: '' }),
    );
    await this.world.runUntil(asking, 10 * second);
    return asking;
  }

  /** Asks again until the status is one of `wanted`, at most for `budgetUs`. */
  async askUntil(
    node: string,
    path: string,
    wanted: readonly number[],
    budgetUs = 20 * second,
  ): Promise<StepAnswer> {
    const endUs = this.world.nowUs + budgetUs;
    for (;;) {
      const answer = await this.ask(node, 'GET', path);
      if (wanted.includes(answer.status) || this.world.nowUs >= endUs) return answer;
      await this.pass(second / 2);
    }
  }

  /** Fails reads, writes and syncs, and slows operations down, where the point says so. */
  #watch(node: string): void {
    const { disk } = this.cluster.host(node);
    let fullUntilUs = -1;
    disk.inject({
      kind: 'write-error',
      failure: 'noSpace',
      matches: (path) => {
        if (this.world.nowUs < fullUntilUs) return true;
        if (!this.#concerns(path) || !this.#isStruck(node, 'write', path, ['full-disk'])) return false;
        fullUntilUs = this.world.nowUs + fullUs;
        return true;
      },
    });
    disk.inject({
      kind: 'write-error',
      matches: (path) => this.#concerns(path) && this.#isStruck(node, 'write', path, ['failing-write']),
    });
    let unreadableUntilUs = -1;
    disk.inject({
      kind: 'read-error',
      matches: (path) => {
        if (this.world.nowUs < unreadableUntilUs) return true;
        if (!this.#concerns(path) || !this.#isStruck(node, 'read', path, ['failing-reads'])) return false;
        unreadableUntilUs = this.world.nowUs + unreadableUs;
        // What it could not read counts as damaged, until an operator starts it again.
        this.#failed.add(`${node}/${this.cluster.host(node).lives}`);
        return true;
      },
    });
    disk.inject({
      kind: 'sync-error',
      matches: (path) => this.#concerns(path) && this.#isStruck(node, 'sync', path, ['failing-sync']),
    });
    for (const operation of slowed) {
      disk.inject({
        kind: 'slow-disk',
        operations: [operation],
        delay: { minUs: slowUs, meanUs: 0, tailOneIn: 0, tailUs: 0 },
        matches: (path) => this.#concerns(path) && this.#isStruck(node, operation, path, ['slow-disk']),
      });
    }
  }

  /** Counts an operation as a step for these strikes; true if it is the one to strike. */
  #isStruck(node: string, operation: string, path: string, strikes: readonly StepStrike[]): boolean {
    if (!this.#counting) return false;
    const name = `${node} ${operation} ${path} ${strikes.join(' ')}`;
    const nth = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, nth);
    const point = this.#point;
    if (point === undefined) {
      for (const strike of strikes) this.points.push({ node, operation, path, nth, strike });
      return false;
    }
    const isIt =
      !this.struck &&
      strikes.includes(point.strike) &&
      point.node === node &&
      point.operation === operation &&
      point.path === path &&
      point.nth === nth;
    if (isIt) this.struck = true;
    return isIt;
  }

  #kill(host: string): void {
    const { strike } = present(this.#point, 'the point of a strike');
    const { cluster } = this;
    const struck = strike === 'blackout' ? cluster.names.filter((name) => cluster.isUp(name)) : [host];
    for (const name of struck) {
      cluster.crash(
        name,
        strike === 'crash' ? 'keepAll' : 'dropAll',
        strike === 'crash' ? 'reset' : 'silent',
      );
      this.world.after(downUs, 'restart', () => cluster.start(name));
    }
  }
}
