/**
 * Strikes a transaction at every point once: named step x fault x branch. A transaction over three primaries runs into
 * its fault. While the fault lasts, rival transactions try the same keys. After the heal, the three keys must hold one
 * transaction's values, nothing may be in doubt, and the steps must keep `atomicity`, `outcome-stability`,
 * `no-dangling-transactions`, `lock-exclusivity` and `exactly-once`.
 *
 * `crash`: the process dies, its files are intact. `syncLoss`: the power fails, only synced data remains. `partition`:
 * the node is cut off for a while. `pause`: the process is paused for a while.
 */
import type { BranchesLeft } from '../check/transactions/transactions.ts';
import { checkNothingLeft } from '../check/transactions/branches-left.ts';
import type { CheckReport } from '../check/report.ts';
import { joinReports } from '../check/report.ts';
import type { Dangling, HeardOutcome } from '../check/transactions/transactions.ts';
import {
  checkAtomicity,
  checkNothingDangles,
  checkOnce,
  checkStability,
} from '../check/transactions/transactions.ts';
import { checkLocks } from '../check/transactions/locks.ts';
import type { TraceEvent } from '../world/core/trace.ts';
import { branchesLeft } from '../observe/branches-left.ts';
import type { HarnessAnswer, HarnessNode } from './transaction-harness.ts';
import { TransactionHarness, labNodes, put } from './transaction-harness.ts';
import { branchSteps, coordinatorSteps } from '../../engine/transactions/formats/steps.ts';

/** The faults of a crash point; explained in the header. */
export const strikes = ['crash', 'partition', 'pause', 'syncLoss'] as const;
/** One of `strikes`. */
export type Strike = (typeof strikes)[number];

/**
 * One strike: at the first event of the step at the node (for a coordinator's step toward a branch: the event about
 * it).
 */
export interface CrashPoint {
  readonly step: string;
  readonly strike: Strike;
  readonly branch: HarnessNode;
}

/** The result of one transaction with one or two strikes. */
export interface CrashPointResult {
  readonly points: readonly CrashPoint[];
  /** Number of the points whose step was reached and struck. */
  readonly struck: number;
  readonly reports: readonly CheckReport[];
  /** Violations that are in no report; empty if there are none. */
  readonly faults: readonly string[];
  readonly digest: string;
}

const downUs = 400_000;
const awayUs = 1_200_000;
const healUsMax = 30_000_000;
const rivalEveryUs = 60_000;
/**
 * Enough rivals to outlast a struck node's return, so that its locks are tried before it has inquired for the outcome.
 */
const rivalCount = 12;

/**
 * Steps of the coordinator that name a branch; the others happen once per transaction. Where the coordinator receives a
 * message, the branch that sent it is struck: the message is already under way.
 */
const hearing: readonly string[] = ['c.vote.recv', 'c.ack.recv'];
const namingSteps: readonly string[] = ['c.prepare.sent', 'c.vote.recv', 'c.commit.sent', 'c.ack.recv'];

/** Every point: all steps, all strikes, all branches. */
export function allCrashPoints(): readonly CrashPoint[] {
  return [...coordinatorSteps, ...branchSteps].flatMap((step) =>
    strikes.flatMap((strike) => labNodes.map((branch) => ({ step, strike, branch }))),
  );
}

/** A point as text: `p.vote.sent crash n2`. */
export function describePoint({ step, strike, branch }: CrashPoint): string {
  return `${step} ${strike} ${branch}`;
}

/** Runs one transaction with these strikes, and judges what remains. */
export async function runCrashPoints(points: readonly CrashPoint[]): Promise<CrashPointResult> {
  const run = new CrashRun(points);
  await run.play();
  return run.result();
}

class CrashRun {
  readonly #points: readonly CrashPoint[];
  readonly #lab: TransactionHarness;
  readonly #coordinator: HarnessNode;
  readonly #keys: readonly string[];
  readonly #heard: HeardOutcome[] = [];
  readonly #dangling: Dangling[] = [];
  readonly #faults: string[] = [];
  #left: readonly BranchesLeft[] = [];
  #struck = 0;

  constructor(points: readonly CrashPoint[]) {
    this.#points = points;
    this.#lab = new TransactionHarness(points.map(describePoint).join(', '));
    this.#coordinator = coordinatorFor(points);
    this.#keys = labNodes.map((node) => this.#lab.key(node));
  }

  async play(): Promise<void> {
    const lab = this.#lab;
    await lab.start();
    this.#hear(await lab.call(this.#coordinator, 'POST', '/transactions', this.#batch('before')));
    for (const point of this.#points) this.#arm(point);
    const answer = lab.ask(this.#coordinator, 'POST', '/transactions', this.#batch('struck'));
    const rivals = this.#rivals();
    await lab.pass(awayUs + downUs);
    this.#heal();
    await lab.world.runUntil(Promise.all([answer, rivals]), healUsMax);
    this.#hear(await answer);
    for (const heard of await rivals) this.#hear(heard);
    await this.#settle();
    await this.#readBack();
    await this.#forget();
    if (lab.world.failures.length > 0) this.#faults.push(...lab.world.failures.map(describeFailure));
  }

  result(): CrashPointResult {
    const steps = this.#lab.steps.map(stepOf);
    return {
      points: this.#points,
      struck: this.#struck,
      reports: [
        checkAtomicity(steps),
        checkStability(steps, this.#heard),
        joinReports(checkNothingDangles(this.#dangling), checkNothingLeft(this.#left)),
        checkLocks(steps),
        checkOnce(steps),
      ],
      faults: this.#faults,
      digest: this.#lab.world.digest(),
    };
  }

  #batch(value: string): object {
    return { operations: this.#keys.map((key) => put(key, value)), timeout_ms: 800 };
  }

  /** Rival transactions try the keys repeatedly while the fault lasts, through every node that serves. */
  async #rivals(): Promise<readonly (HarnessAnswer | undefined)[]> {
    const answers: Promise<HarnessAnswer | undefined>[] = [];
    for (let turn = 0; turn < rivalCount; turn++) {
      await this.#lab.wait(rivalEveryUs);
      const serving = labNodes.filter((node) => this.#lab.cluster.serves(node));
      const through = serving[turn % serving.length];
      if (through === undefined) continue;
      answers.push(this.#lab.ask(through, 'POST', '/transactions', this.#batch(`rival ${turn}`)));
    }
    return Promise.all(answers);
  }

  #arm(point: CrashPoint): void {
    this.#prepareGround(point);
    let armed = true;
    this.#lab.onStep(point.step, (event) => {
      if (!armed || !this.#concerns(point, event)) return;
      armed = false;
      this.#struck += 1;
      this.#inject(point.strike, hearing.includes(point.step) ? point.branch : event.host);
    });
  }

  /** Some steps are reached only after an earlier fault. */
  #prepareGround({ step, branch }: CrashPoint): void {
    if (step === 'p.recovery.scan') {
      this.#once(
        'p.vote.sent',
        (event) => event.host === branch,
        (event) => this.#inject('syncLoss', event.host),
      );
    }
    if (step === 'c.indoubt.written') {
      const other = labNodes.find((node) => node !== branch);
      this.#once(
        'p.decision.recv',
        (event) => event.host === other,
        (event) => this.#inject('crash', event.host),
      );
    }
  }

  #once(step: string, when: (event: TraceEvent) => boolean, act: (event: TraceEvent) => void): void {
    let armed = true;
    this.#lab.onStep(step, (event) => {
      if (!armed || !when(event)) return;
      armed = false;
      act(event);
    });
  }

  #concerns({ step, branch }: CrashPoint, { host, fields }: TraceEvent): boolean {
    if (namingSteps.includes(step)) {
      return host === this.#coordinator && (fields['to'] ?? fields['from']) === branch;
    }
    return host === branch;
  }

  #inject(strike: Strike, host: string): void {
    const { world, cluster } = this.#lab;
    // An earlier strike at the same step may have killed the node.
    if (!cluster.host(host).alive) return;
    const others = labNodes.filter((node) => node !== host);
    switch (strike) {
      case 'crash':
      case 'syncLoss':
        cluster.crash(
          host,
          strike === 'crash' ? 'keepAll' : 'dropAll',
          strike === 'crash' ? 'reset' : 'silent',
        );
        world.after(downUs, 'restart', () => cluster.start(host));
        return;
      case 'partition': {
        const cut = world.network.partition([host], others);
        world.after(awayUs, 'heal', () => cut.lift());
        return;
      }
      case 'pause':
        cluster.host(host).pause();
        world.after(awayUs, 'resume', () => this.#resume(host));
        return;
    }
  }

  #resume(host: string): void {
    const machine = this.#lab.cluster.host(host);
    if (machine.alive) machine.resume();
  }

  #heal(): void {
    this.#lab.world.network.heal();
    for (const node of labNodes) {
      this.#lab.cluster.start(node);
      this.#resume(node);
    }
  }

  /** Waits until no node lists anything in doubt; records what remains. */
  async #settle(): Promise<void> {
    const { world, cluster } = this.#lab;
    const endUs = world.nowUs + healUsMax;
    await world.runUntil(() => labNodes.every((node) => cluster.serves(node)), healUsMax);
    for (;;) {
      const lists: Dangling[] = [];
      for (const node of labNodes) {
        const answer = await this.#lab.call(node, 'GET', '/transactions?state=in_doubt');
        lists.push({ node, atUs: world.nowUs, xids: xidsOf(answer) });
      }
      const quiet = lists.every(({ xids }) => xids?.length === 0);
      if (quiet || world.nowUs >= endUs) {
        this.#dangling.push(...lists);
        return;
      }
      await this.#lab.pass(200_000);
    }
  }

  /** Waits until no branch record is left; records what remains. */
  async #forget(): Promise<void> {
    const { world, cluster } = this.#lab;
    const endUs = world.nowUs + healUsMax;
    for (;;) {
      this.#left = branchesLeft(cluster, world.nowUs);
      if (world.nowUs >= endUs || this.#left.every(({ branches }) => branches.length === 0)) return;
      await this.#lab.pass(500_000);
    }
  }

  /**
   * The keys hold one transaction's values, on every node: at once, or, where a branch reported that its level was not
   * met, after the hints have reached the other replicas.
   */
  async #readBack(): Promise<void> {
    const { world, steps } = this.#lab;
    const owed = steps.some(({ name, fields }) => name === 'xa.p.ack.sent' && fields['met'] === false);
    const endUs = world.nowUs + (owed ? healUsMax : 0);
    for (;;) {
      const values = await this.#valuesEverywhere();
      const distinct = new Set(values.values());
      if (distinct.size === 1 && !distinct.has('(no answer)')) return;
      if (world.nowUs >= endUs) {
        const places = [...values].map(([place, value]) => `${place}=${value}`);
        this.#faults.push(`the keys hold ${places.join(' ')}`);
        return;
      }
      await this.#lab.pass(500_000);
    }
  }

  async #valuesEverywhere(): Promise<ReadonlyMap<string, string>> {
    const values = new Map<string, string>();
    for (const [index, key] of this.#keys.entries()) {
      for (const node of labNodes) {
        const value = await this.#readPatiently(node, key);
        values.set(`${node}/${labNodes[index] ?? ''}`, value ?? '(no answer)');
      }
    }
    return values;
  }

  /** A node that has just returned may not have found its peers yet. */
  async #readPatiently(node: HarnessNode, key: string): Promise<string | undefined> {
    for (let tries = 0; tries < 20; tries++) {
      const value = await this.#lab.read(node, key);
      if (value !== undefined) return value;
      await this.#lab.pass(300_000);
    }
    return undefined;
  }

  #hear(answer: HarnessAnswer | undefined): void {
    const atUs = this.#lab.world.nowUs;
    const { transaction_id: xid, outcome } = answer?.body ?? {};
    const said = outcome === 'committed' || outcome === 'aborted' ? outcome : 'unknown';
    this.#heard.push({ atUs, xid: typeof xid === 'string' ? xid : '', outcome: said });
  }
}

/** Steps that happen once per transaction depend on the coordinator; its own branch has no prepare record. */
function coordinatorFor(points: readonly CrashPoint[]): HarnessNode {
  const once = points.find(({ step }) => step.startsWith('c.') && !namingSteps.includes(step));
  if (once !== undefined) return once.branch;
  const recorded = points.filter(({ step }) => step.startsWith('p.prepareRec.')).map(({ branch }) => branch);
  return labNodes.find((node) => !recorded.includes(node)) ?? 'n1';
}

/** Converts a trace event to a step for the checks. */
export function stepOf({ atUs, host, name, fields }: TraceEvent): Parameters<typeof checkOnce>[0][number] {
  return { atUs, node: host, step: name.slice('xa.'.length), xid: String(fields['xid']), fields };
}

function xidsOf(answer: HarnessAnswer | undefined): readonly string[] | undefined {
  const list = answer?.body['transactions'];
  return Array.isArray(list) ? list.map((one: unknown) => JSON.stringify(one)) : undefined;
}

function describeFailure({ host, what, error }: TransactionHarness['world']['failures'][number]): string {
  return `${host}: ${what}: ${error instanceof Error ? error.message : String(error)}`;
}
