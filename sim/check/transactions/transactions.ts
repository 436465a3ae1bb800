/**
 * Checks of transactions, from the engine's named steps and from clients' answers (locks, `lock-exclusivity` (INV7):
 * locks.ts):
 *
 * - `atomicity` (INV1): a branch applies a transaction only after the decision is durable. Once one branch has applied
 *   it, every branch that voted commit does. Without a decision no branch applies it;
 * - `outcome-stability` (INV2): the outcome that a client received (committed, aborted) is what happened, and does not
 *   change; `operator-decisions.ts` judges operators' decisions;
 * - `no-dangling-transactions` (INV3): after the heal, no transaction is in doubt on any node;
 * - `exactly-once` (INV8): a branch applies a transaction once, however often it receives the commit. Of all
 *   transactions with one idempotency key one is applied. Once the client has received `committed`, no retry is told
 *   that nothing happened. A client that was told that nothing happened never receives anything else, and nothing is
 *   applied under that key, before or after.
 *
 * One-step commits have no vote and no decision; `outcome-stability` and `exactly-once` cover them. A lost disk (a step
 * `disk.wiped` of no transaction) loses applied writes, which may be applied again. If a node that died for good
 * (`lost`) had voted for writes and was not known to have applied them, its replacement (`replacements`) must apply them.
 *
 * Skipped: branches that an operator decided or abandoned, but not the other branches of their transactions. Also
 * branches of nodes that died for good which no node can restore, because their coordinators died as well or were
 * restarted, or because the node was not replaced. A crash may come between a durable record and its step: a branch
 * that a restart finds applied counts as applied.
 */
import type { DecisionRecord } from '../../evidence/operator-decisions.ts';
import type { LevelReach } from '../../evidence/level-reach.ts';
import type { TransactionHistory } from '../../evidence/transactions.ts';
import type { LivenessRecord } from '../cluster/liveness.ts';
import {
  heuristicBranches,
  checkOperatorDecisions,
  decidedHeuristically,
  mixedHeuristically,
} from './operator-decisions.ts';
import type { ClaimRecords } from './claims.ts';
import { checkClaims } from './claims.ts';
import { checkTransactionValues } from './transaction-values.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import type { ForgottenAnswer, RecordsKept } from './remembered.ts';
import { checkForgotten } from './remembered.ts';
import { checkRedisCounters } from '../protocols/redis-counters.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally } from '../report.ts';

/** One named step (engine/transactions/formats/steps.ts): `c.decision.synced`, `p.applied.synced`. */
export interface TransactionStep {
  readonly atUs: number;
  readonly node: string;
  readonly step: string;
  readonly xid: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/** The outcome of a transaction that a client received; `xid` is '' if it received none. */
export interface HeardOutcome {
  readonly atUs: number;
  readonly xid: string;
  readonly outcome: 'committed' | 'aborted' | 'unknown';
}

/** A transaction that a node still lists as in doubt at the end. */
export interface Dangling {
  readonly node: string;
  readonly atUs: number;
  /** Undefined if the node could not be asked. */
  readonly xids: readonly string[] | undefined;
}

/** The record of one branch. */
export interface BranchLeft {
  readonly xid: string;
  /** `applied`, `prepared`, or `damaged` if it cannot be read. */
  readonly state: string;
}

/** The branch records on one node's disk. */
export interface BranchesLeft {
  readonly node: string;
  readonly atUs: number;
  readonly branches: readonly BranchLeft[];
}

/** One branch, as its steps describe it. */
interface BranchStory {
  votedUs: number | undefined;
  /** Time at which it voted with nothing to write. */
  readOnlyUs: number | undefined;
  appliedUs: number | undefined;
  /** Number of times that its writes became durable. */
  applications: number;
  /** Its coordinator has received the acknowledgement. */
  acknowledged: boolean;
}

interface Story {
  decidedUs: number | undefined;
  decidedBy: string;
  /** Its coordinator has restarted since the decision: it has the decision, but not the prepare requests. */
  isRecovered: boolean;
  readonly branches: Map<string, BranchStory>;
  /** Number of branches with which its coordinator began. */
  named: number;
  alone: boolean;
}

/** The replacement of a disk by an empty one. */
export interface Wipe {
  readonly node: string;
  readonly atUs: number;
}

/** The records of transactions of one run. */
export interface TransactionRecords {
  readonly steps: readonly TransactionStep[];
  readonly history: TransactionHistory;
  /** Outcomes that the clients received after the calm; those of the storm are in `history`. */
  readonly heard: readonly HeardOutcome[];
  /** Coordinators that knew nothing of a transaction after the calm. Absent: none. */
  readonly forgotten?: readonly ForgottenAnswer[];
  /** How long outcomes are remembered at least, in virtual microseconds; absent: nodes may forget them earlier. */
  readonly retentionUs?: number | undefined;
  /** Records on the disks once nothing may be remembered any more; absent: the run does not last so long. */
  readonly kept?: readonly RecordsKept[];
  /** What an operator decided while the cluster ran; absent: nothing. */
  readonly decisions?: readonly DecisionRecord[];
  /** What nodes listed as in doubt at the end. */
  readonly dangling: readonly Dangling[];
  /** Branch records on the disks at the end. */
  readonly left: readonly BranchesLeft[];
  /** The probe transactions after the calm. */
  readonly liveness: readonly LivenessRecord[];
  /** Number of accounts, and the balance with which each begins. */
  readonly accounts: number;
  readonly firstBalance: number;
  /** The longest time for which a client waits for an answer, in virtual microseconds. */
  readonly answerUsMax: number;
  /** Nodes that died for good. */
  readonly lost: readonly string[];
  /** Those of them that were not replaced. */
  readonly missed: readonly string[];
  /** The replacement of each of the others. */
  readonly replacements: ReadonlyMap<string, string>;
  /** Losses of disks whose nodes live on. */
  readonly wipes: readonly Wipe[];
  /** Starts on disks that had lost their newest records, of which the nodes cannot know. */
  readonly shortened: readonly Wipe[];
  /** Nodes whose disks lost records, in one way or another. */
  readonly forgetful: readonly string[];
}

/** The records, and what several checks derive from them. */
export interface TransactionFindings extends TransactionRecords {
  /** Keys of transactions of which an operator decided a branch. */
  readonly decidedByOperator: ReadonlySet<string>;
  /** Keys of those of them whose branches need not have one outcome. */
  readonly mixedByOperator: ReadonlySet<string>;
  /** Keys of transactions of which a part was lost with a node or a disk without a violation. */
  readonly partlyLost: ReadonlySet<string>;
}

/** The findings of one run; undefined if nothing observed transactions. */
export interface TransactionEvidence {
  readonly transactions: TransactionFindings | undefined;
}

/** The records with the losses of disks among the steps, and every outcome that clients received. */
export function transactionFindings(records: TransactionRecords): TransactionFindings {
  const { history, lost, replacements } = records;
  const steps = withLosses(records);
  const partlyLost = new Set([...buriedWith(lost, steps, replacements), ...lostWithDisks(steps)]);
  return {
    ...records,
    steps,
    heard: [...heardIn(history), ...records.heard],
    decidedByOperator: keysOf(steps, decidedHeuristically(steps)),
    mixedByOperator: keysOf(steps, mixedHeuristically(steps, decidedIn(steps))),
    partlyLost: keysOf(steps, partlyLost),
  };
}

function heardIn(history: TransactionHistory): readonly HeardOutcome[] {
  return history.flatMap(({ xids, completedUs, invokedUs }) =>
    xids.map((answer) => {
      const [xid = '', word] = answer.split(' ');
      const outcome = word === 'committed' || word === 'aborted' ? word : 'unknown';
      return { atUs: completedUs ?? invokedUs, xid, outcome } as const;
    }),
  );
}

/** The step of a lost disk; it belongs to no transaction. */
export const wiped = 'disk.wiped';

/** The step of a start on a disk that had lost its newest records; it belongs to no transaction. */
export const shortened = 'disk.shortened';

/** The steps merged with the losses of disks, in order of time. */
function withLosses({
  steps,
  wipes,
  shortened: starts,
}: Pick<TransactionRecords, 'steps' | 'wipes' | 'shortened'>): readonly TransactionStep[] {
  const eventOf = (step: string) => {
    return ({ node, atUs }: Wipe): TransactionStep => ({ atUs, node, step, xid: '', fields: {} });
  };
  const events = [...wipes.map(eventOf(wiped)), ...starts.map(eventOf(shortened))];
  return events.length === 0 ? steps : [...steps, ...events].sort((left, right) => left.atUs - right.atUs);
}

/**
 * Transactions of which a part may be lost with a disk without a violation. Either the node coordinated them and alone
 * knew the decision, or it had reported that its part is not on as many replicas as the level requires.
 */
export function lostWithDisks(steps: readonly TransactionStep[]): ReadonlySet<string> {
  const open = new Map<string, Set<string>>();
  const lost = new Set<string>();
  for (const { node, step, xid, fields } of steps) {
    const own = open.get(node) ?? new Set();
    open.set(node, own);
    if (step === wiped) {
      for (const one of own) lost.add(one);
      own.clear();
    }
    if (step === 'c.decision.written' || (step === 'p.ack.sent' && fields['met'] === false)) own.add(xid);
    if (step === 'c.tombstone.written') own.delete(xid);
  }
  return lost;
}

/** The row of `atomicity`. */
export const atomicityRow = invariant({
  name: 'atomicity',
  code: 'INV1',
  promise: 'all branches of a transaction commit, or none',
  gravity: 'data',
  breach: 'a transaction is torn: some of its writes are there and others are not',
  needs: [],
  check: ({ transactions }: TransactionEvidence) =>
    transactions &&
    joinReports(
      checkAtomicity(transactions.steps, transactions.lost, transactions.replacements),
      checkTransactionValues(
        transactions.history,
        transactions.accounts,
        transactions.firstBalance,
        new Set([...transactions.mixedByOperator, ...transactions.partlyLost]),
      ),
    ),
});

/** `replacements`: the replacement of each node in `lost`. */
export function checkAtomicity(
  steps: readonly TransactionStep[],
  lost: readonly string[] = [],
  replacements: ReadonlyMap<string, string> = new Map(),
): CheckReport {
  const tally = new Tally('atomicity');
  const heuristic = heuristicBranches(steps);
  for (const [xid, story] of storiesOf(steps)) {
    if (story.alone) continue;
    const { decidedUs } = story;
    for (const [node, { votedUs, appliedUs }] of story.branches) {
      if (votedUs === undefined && appliedUs === undefined) continue;
      const isLost = lost.includes(node);
      if (isLost && (decidedUs === undefined || !replacements.has(node) || lost.includes(story.decidedBy)))
        continue;
      if (heuristic.has(`${node} ${xid}`) && (!isLost || story.isRecovered)) {
        tally.skip();
        continue;
      }
      if (isLost) {
        const replacement = replacements.get(node) ?? '';
        const isDone = isHandedOver(story, node, replacement);
        tally.compare(
          isDone,
          decidedUs ?? 0,
          () => `${replacement} never carried out ${xid}, decided, for ${node}`,
        );
        continue;
      }
      const at = appliedUs ?? votedUs ?? 0;
      if (decidedUs === undefined) {
        tally.compare(appliedUs === undefined, at, () => `${node} carried out ${xid}, which nobody decided`);
      } else {
        tally.compare(appliedUs !== undefined, decidedUs, () => `${node} never carried out ${xid}, decided`);
        if (appliedUs !== undefined)
          tally.compare(appliedUs >= decidedUs, at, () => `${node} carried out ${xid} before the decision`);
      }
    }
  }
  return tally.report();
}

/** The replacement has applied the branch, or the node itself had and its coordinator knows. */
function isHandedOver({ branches }: Story, node: string, replacement: string): boolean {
  return branches.get(node)?.acknowledged === true || branches.get(replacement)?.appliedUs !== undefined;
}

/** The row of `outcome-stability`. */
export const outcomeStabilityRow = invariant({
  name: 'outcome-stability',
  code: 'INV2',
  promise: 'the outcome that a client hears stays true',
  gravity: 'data',
  breach: 'a client was told committed or aborted, and the opposite is true',
  needs: [],
  check: ({ transactions: all }: TransactionEvidence) =>
    all && joinReports(checkStability(all.steps, all.heard), checkMemory(all), checkOperatorDecisions(all)),
});

/** A disk that has lost records, or a node that is gone, excuses that an outcome is forgotten. */
function checkMemory({
  steps,
  forgotten = [],
  retentionUs,
  lost,
  wipes,
  shortened: starts,
  forgetful,
}: TransactionFindings): CheckReport {
  const decided = steps.filter(({ step }) => step === 'c.decision.synced');
  const isWhole = lost.length + wipes.length + starts.length + forgetful.length === 0;
  const decidedUs = new Map(isWhole ? decided.map(({ xid, atUs }) => [xid, atUs]) : []);
  return checkForgotten(forgotten, decidedUs, retentionUs);
}

/** Checks `outcome-stability`: every received outcome against the steps. */
export function checkStability(
  steps: readonly TransactionStep[],
  heard: readonly HeardOutcome[],
): CheckReport {
  const tally = new Tally('outcome-stability');
  const stories = storiesOf(steps);
  const heuristic = heuristicBranches(steps);
  const said = new Map<string, HeardOutcome['outcome']>();
  for (const { atUs, xid, outcome } of heard) {
    if (xid === '' || outcome === 'unknown') {
      tally.skip();
      continue;
    }
    const before = said.get(xid) ?? outcome;
    said.set(xid, outcome);
    tally.compare(before === outcome, atUs, () => `${xid} was ${before} and is said to be ${outcome}`);
    const branches = [...(stories.get(xid)?.branches ?? [])].filter(
      ([node]) => !heuristic.has(`${node} ${xid}`),
    );
    const done = branches.some(([, { applications }]) => applications > 0);
    if (outcome === 'aborted')
      tally.compare(!done, atUs, () => `${xid} was said to be aborted, and happened`);
    else
      tally.compare(
        isDoneBy(stories.get(xid), atUs),
        atUs,
        () => `${xid} was said to be committed, and was not`,
      );
  }
  return tally.report();
}

/** By then the transaction was decided, or committed in one step; or its branches had nothing to write. */
function isDoneBy(story: Story | undefined, atUs: number): boolean {
  if (story === undefined) return false;
  const branches = [...story.branches.values()];
  const wasThen = (us: number | undefined): boolean => us !== undefined && us <= atUs;
  if (wasThen(story.decidedUs)) return true;
  if (story.alone && branches.some(({ appliedUs }) => wasThen(appliedUs))) return true;
  const idle = branches.filter(({ readOnlyUs }) => wasThen(readOnlyUs));
  return idle.length > 0 && idle.length === story.named;
}

/** Checks `no-dangling-transactions`: the in-doubt lists of all nodes at the end. */
export function checkNothingDangles(left: readonly Dangling[]): CheckReport {
  const tally = new Tally('no-dangling-transactions');
  for (const { node, atUs, xids } of left) {
    tally.compare(xids?.length === 0, atUs, () =>
      xids === undefined ? `${node} cannot be asked` : `${node} is in doubt of ${xids.join(' ')}`,
    );
  }
  return tally.report();
}

/**
 * Transactions of which a voted branch was lost with its node: the node died before the writes had reached their level,
 * and no living node surely has them. They stay lost until the node's replacement (`replacements`) has applied them.
 */
export function buriedWith(
  lost: readonly string[],
  steps: readonly TransactionStep[],
  replacements: ReadonlyMap<string, string> = new Map(),
): ReadonlySet<string> {
  const open = new Map<string, string>();
  const deadOf = new Map([...replacements].map(([dead, replacement]) => [replacement, dead]));
  for (const { node, step, xid, fields } of steps) {
    const dead = deadOf.get(node);
    if (step === 'p.applied.synced' && open.delete(`${dead ?? ''} ${xid}`)) open.set(`${node} ${xid}`, xid);
    if (!lost.includes(node)) {
      if (dead !== undefined) open.delete(`${node} ${xid}`);
      continue;
    }
    if (step === 'p.vote.sent' && fields['vote'] === 'commit') open.set(`${node} ${xid}`, xid);
    const told = step === 'p.decision.recv' && fields['decision'] === 'rollback';
    if (told || (step === 'p.ack.sent' && fields['met'] === true)) open.delete(`${node} ${xid}`);
  }
  return new Set(open.values());
}

/** `bucket/key` of every key that those transactions were to write. */
export function keysOf(steps: readonly TransactionStep[], xids: ReadonlySet<string>): ReadonlySet<string> {
  const taken = steps.filter(({ step, xid }) => step === 'p.locks.taken' && xids.has(xid));
  return new Set(taken.flatMap(({ fields }) => String(fields['keys'] ?? '').split(' ')));
}

/** What `exactly-once` needs. */
export interface OnceEvidence extends TransactionEvidence {
  readonly redis: readonly RedisRecord[];
  readonly levelReach: LevelReach;
  readonly claims: ClaimRecords;
}

/** The row of `exactly-once`. */
export const exactlyOnceRow = invariant({
  name: 'exactly-once',
  code: 'INV8',
  promise: 'a write takes effect once, however often sent',
  gravity: 'data',
  breach: 'a retry is carried out a second time, or a definite answer about it is wrong',
  needs: ['routes'],
  check: ({ transactions, redis, levelReach, claims }: OnceEvidence) =>
    joinReports(
      checkRedisCounters(redis, levelReach, transactions?.mixedByOperator),
      checkClaims(claims),
      transactions && checkOnce(transactions.steps),
      transactions && checkRetries(transactions.history),
      transactions && checkFinality(transactions.steps, transactions.history),
    ),
});

/** Checks the branches' part of `exactly-once`. */
export function checkOnce(steps: readonly TransactionStep[]): CheckReport {
  const tally = new Tally('exactly-once');
  checkNames(steps, tally);
  for (const [xid, { branches }] of storiesOf(steps)) {
    for (const [node, { appliedUs, applications }] of branches) {
      if (appliedUs === undefined) continue;
      tally.compare(applications <= 1, appliedUs, () => `${node} carried out ${xid} ${applications} times`);
    }
  }
  return tally.report();
}

/** The idempotency keys of transactions, by transaction id. */
function namesIn(steps: readonly TransactionStep[]): ReadonlyMap<string, string> {
  const named = new Map<string, string>();
  for (const { step, xid, fields } of steps) {
    if (step === 'c.begin' && typeof fields['client'] === 'string') named.set(xid, fields['client']);
  }
  return named;
}

/**
 * Of all transactions with one idempotency key, one is applied. Not compared: those that an operator's decision left with
 * two outcomes, which a repetition may carry out whole.
 */
function checkNames(steps: readonly TransactionStep[], tally: Tally): void {
  const named = namesIn(steps);
  const mixed = mixedHeuristically(steps, decidedIn(steps));
  const done = new Map<string, string>();
  for (const { step, xid, atUs } of steps) {
    const name = step === 'p.applied.synced' && !mixed.has(xid) ? named.get(xid) : undefined;
    if (name === undefined) continue;
    const first = done.get(name) ?? xid;
    done.set(name, first);
    tally.compare(first === xid, atUs, () => `${xid} carries out ${name}, which ${first} has carried out`);
  }
}

/**
 * A client that received `committed` is never told with certainty, under the same idempotency key, that nothing
 * happened.
 */
export function checkRetries(history: TransactionHistory): CheckReport {
  const tally = new Tally('exactly-once');
  for (const { clientId, denials, outcome } of history) {
    if (clientId === '' || outcome !== 'ok') continue;
    const [first] = denials;
    tally.compare(
      first === undefined,
      first?.atUs ?? 0,
      () => `${clientId} was committed, and its repetition ${first?.xid} was told: aborted, ${first?.reason}`,
    );
  }
  return tally.report();
}

/**
 * A client was told that nothing happened under its idempotency key. No attempt under that key is applied, before or
 * after, and no other answer contradicts it. Skipped: keys of transactions that an operator's decision left with two
 * outcomes.
 */
export function checkFinality(steps: readonly TransactionStep[], history: TransactionHistory): CheckReport {
  const tally = new Tally('exactly-once');
  const named = namesIn(steps);
  const mixed = mixedHeuristically(steps, decidedIn(steps));
  const done = new Map<string, string>();
  for (const { step, xid } of steps) {
    const name = step === 'p.applied.synced' && !mixed.has(xid) ? named.get(xid) : undefined;
    if (name !== undefined) done.set(name, xid);
  }
  for (const { clientId, xids, completedUs, invokedUs } of history) {
    if (clientId === '') continue;
    const denial = xids.find((answer) => answer.endsWith(' aborted'));
    if (denial === undefined) continue;
    const attempt = done.get(clientId) ?? xids.find((answer) => answer.endsWith(' committed'));
    tally.compare(
      attempt === undefined,
      completedUs ?? invokedUs,
      () => `${clientId} was told: ${denial}, and ${attempt} happened`,
    );
  }
  return tally.report();
}

const decided: readonly string[] = ['c.decision.synced', 'decision.recovered'];

/** Transactions with a durable decision to commit. */
function decidedIn(steps: readonly TransactionStep[]): ReadonlySet<string> {
  return new Set(steps.filter(({ step }) => decided.includes(step)).map(({ xid }) => xid));
}

function storiesOf(steps: readonly TransactionStep[]): ReadonlyMap<string, Story> {
  const stories = new Map<string, Story>();
  for (const event of steps) {
    if (event.step === wiped) {
      for (const { branches } of stories.values()) {
        const branch = branches.get(event.node);
        if (branch !== undefined) branch.applications = 0;
      }
      continue;
    }
    const story = stories.get(event.xid) ?? newStory();
    stories.set(event.xid, story);
    if (event.step === 'c.begin') story.named = String(event.fields['branches']).split(' ').length;
    if (event.step === 'c.prepare.sent') story.alone = false;
    // The record may have been durable when the node crashed, before its step was traced.
    if (decided.includes(event.step)) {
      story.decidedUs ??= event.atUs;
      story.decidedBy = event.node;
      if (event.step === 'decision.recovered') story.isRecovered = true;
    }
    if (event.step === 'c.ack.recv') branchOf(story, String(event.fields['from'])).acknowledged = true;
    if (event.step === 'branch.concluded' && event.fields['vote'] === 'readOnly')
      branchOf(story, event.node).readOnlyUs ??= event.atUs;
    if (event.step.startsWith('p.')) hearBranch(story, event);
  }
  return stories;
}

function newStory(): Story {
  return {
    decidedUs: undefined,
    decidedBy: '',
    isRecovered: false,
    branches: new Map(),
    named: 0,
    alone: true,
  };
}

function branchOf({ branches }: Story, node: string): BranchStory {
  const branch = branches.get(node) ?? {
    votedUs: undefined,
    readOnlyUs: undefined,
    appliedUs: undefined,
    applications: 0,
    acknowledged: false,
  };
  branches.set(node, branch);
  return branch;
}

function hearBranch(story: Story, { atUs, node, step, fields }: TransactionStep): void {
  const branch = branchOf(story, node);
  if (step === 'p.vote.sent' && fields['vote'] === 'commit') branch.votedUs ??= atUs;
  if (step === 'p.vote.sent' && fields['vote'] === 'readOnly') branch.readOnlyUs ??= atUs;
  if (step === 'p.applied.synced') {
    branch.appliedUs ??= atUs;
    branch.applications += 1;
  }
  // The record was durable when the node crashed, before its step was traced.
  if (step === 'p.recovery.scan' && fields['phase'] === 'applied' && branch.applications === 0) {
    branch.appliedUs = atUs;
    branch.applications = 1;
  }
}
