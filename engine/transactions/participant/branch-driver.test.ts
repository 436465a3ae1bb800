/**
 * The driver performs the branch protocol: every command of every step that the protocol can take, in order, and
 * nothing else. The log, the store, the inquirer and the trace of the node are one journal.
 */
import { describe, expect, it } from 'vitest';

import { settle, TestClock } from '../../api/testing/test-io.fixture.ts';
import { AssertionError } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import type { LogFields } from '../../io/log.ts';
import type { Place } from '../../replica/key-slots.ts';
import { tombstone } from '../../replica/object/content.ts';
import type { Actor } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { applyWrite } from '../../replica/object/object.ts';
import type { StoreWrite } from '../../storage/store.ts';
import { Ring } from '../../cluster/ring/ring.ts';
import { votedAbort } from '../formats/prepare-request.ts';
import { dropDecision, readBranch } from '../formats/records.ts';
import { makeXid } from '../formats/xid.fixture.ts';
import { RetentionClock } from '../../base/retention-clock.ts';
import { TransactionMetrics } from '../metrics.ts';
import type { BranchCommand, BranchEvent, BranchPhase } from '../protocol/branch-protocol.ts';
import { describeBranchCommand, holdsLocks, isOver, stepBranch } from '../protocol/branch-protocol.ts';
import type { Written } from './branch.ts';
import { Branch } from './branch.ts';
import { BranchDriver } from './branch-driver.ts';
import { BranchTable } from './branch-table.ts';
import { Locks } from './locks.ts';

const [n1, n2] = ['n1', 'n2'] as [NodeId, NodeId];
const xid = makeXid(n1, '0123456789ab', 1);
const place = { key: objectKey(defaultType, byteStringOf('b'), byteStringOf('k')).packed, token: 0 as Token };
const order = {
  coordinator: n1,
  level: 'DC_QUORUM',
  clientId: '',
  clientDigest: byteStringOf(''),
  branches: [{ node: n2, writes: true, life: 1 }],
  operations: [],
} as const;
const decisionRecord: StoreWrite = { ...dropDecision(xid), value: Buffer.from('committing') };
const vote = votedAbort('prepare_failed', 'the disk is full');

/** Events of the trace that a command brings about, with the field that tells them apart. */
const traced: Readonly<Record<string, string>> = {
  'xa.p.vote.sent': 'vote',
  'xa.p.locks.released': 'xid',
  'xa.branch.mixed': 'decision',
};

/** The votes that the coordinator gets. */
const voteNames: Readonly<Partial<Record<BranchCommand['kind'], string>>> = {
  voteCommit: 'commit',
  voteReadOnly: 'readOnly',
  voteAbort: 'abort',
};

type NewestDone = (error: LockstepError | undefined, objects: readonly (StoredObject | undefined)[]) => void;

/** Every event of the protocol. */
const events: { readonly [K in BranchEvent['kind']]: readonly Extract<BranchEvent, { kind: K }>[] } = {
  refused: [{ kind: 'refused', vote }],
  checked: [{ kind: 'checked' }],
  readied: [
    { kind: 'readied', writes: true },
    { kind: 'readied', writes: false },
  ],
  prepareForced: [
    { kind: 'prepareForced', writes: true },
    { kind: 'prepareForced', writes: false },
  ],
  prepareLost: [{ kind: 'prepareLost', vote }],
  onePhaseChecked: [
    { kind: 'onePhaseChecked', recorded: true },
    { kind: 'onePhaseChecked', recorded: false },
  ],
  onePhaseAnswered: [{ kind: 'onePhaseAnswered' }],
  commitHeard: [{ kind: 'commitHeard' }],
  rollbackHeard: [{ kind: 'rollbackHeard' }],
  applyForced: [{ kind: 'applyForced' }],
  applyFailed: [{ kind: 'applyFailed' }],
  applyRefused: [{ kind: 'applyRefused' }],
  operatorDecided: [
    { kind: 'operatorDecided', decision: 'commit' },
    { kind: 'operatorDecided', decision: 'rollback' },
  ],
  operatorForgot: [{ kind: 'operatorForgot' }],
  heuristicForced: [{ kind: 'heuristicForced' }],
  heuristicFailed: [{ kind: 'heuristicFailed' }],
  outcomeForced: [{ kind: 'outcomeForced' }],
  waited: [{ kind: 'waited' }],
  coordinatorSilent: [{ kind: 'coordinatorSilent' }],
  forgetHeard: [{ kind: 'forgetHeard' }],
};
const allEvents: readonly BranchEvent[] = Object.values(events).flat();

/** The phases in which a branch is taken up: new, or from a record. */
const firstPhases = [
  'preparing',
  'prepared',
  'applied',
  'heuristicCommitted',
  'heuristicRolledBack',
] as const;

/** Every phase that the protocol reaches. */
function reachablePhases(): ReadonlySet<BranchPhase> {
  const reached = new Set<BranchPhase>([...firstPhases, 'heuristicMixed']);
  for (const phase of reached) for (const event of allEvents) reached.add(stepBranch(phase, event).phase);
  return reached;
}

/** What the journal holds once the command is performed, for a branch that is in `phase` then. */
function tracesOf(command: BranchCommand, phase: BranchPhase): readonly string[] {
  switch (command.kind) {
    case 'forcePrepare':
      return ['force prepared'];
    case 'voteCommit':
      // The coordinator's own vote is marked when it is durable, with the decision.
      return phase === 'ready' ? [] : ['xa.p.vote.sent commit'];
    case 'voteReadOnly':
      return ['xa.p.vote.sent readOnly'];
    case 'voteAbort':
      return ['xa.p.vote.sent abort'];
    case 'apply':
      return [`write ${written[command.as]}`];
    case 'release':
      return [`xa.p.locks.released ${xid}`];
    case 'acknowledge':
      return [];
    case 'dropRecord':
      return ['drop'];
    case 'forceHeuristicRollback':
      return ['force heuristicRolledBack'];
    case 'forceOutcome':
      return [`force ${command.state}`];
    case 'reportMixed':
      return [`xa.branch.mixed ${command.decision}`];
    case 'askCoordinator':
      return ['ask coordinator'];
    case 'askBranches':
      return ['ask branches'];
  }
}

const written = {
  decided: 'applied decided',
  withDecision: 'decision',
  heuristic: 'heuristicCommitted',
  onePhase: 'applied alone',
  onePhaseUnrecorded: 'nothing alone',
} as const;

/** The state in a record that the driver writes. */
function stateOf(record: StoreWrite | undefined): string {
  if (record === decisionRecord) return 'decision';
  return record?.value === undefined ? 'nothing' : readBranch(Buffer.from(record.value)).state;
}

function fail(error: unknown): never {
  throw error;
}

/** A driver on n2 whose outside does nothing but keep a journal; the test ends its writes. */
class DriverHarness {
  readonly journal: string[] = [];
  readonly table = new BranchTable();
  readonly locks = new Locks(new TestClock(), 1_000);
  readonly driver: BranchDriver;
  readonly replica = {
    mark: { actor: 'a' as Actor, counter: 1 },
    mayExceedMark: false,
    newest: (_: readonly Place[], done: NewestDone): void => void (this.read = done),
  };
  /** Ends the read of what the keys hold. */
  read: NewestDone = () => fail(new Error('nothing is read'));
  /** The forced record that is not durable yet. */
  forced = new Deferred<LockstepError | undefined>();
  /** Ends the last batch. */
  wrote: (written: Written) => void = () => undefined;

  constructor() {
    const note = (line: string): void => void this.journal.push(line);
    const log = {
      enabled: () => true,
      event: (_level: string, name: string, fields: LogFields = {}) => {
        const field = traced[name];
        if (field !== undefined) note(`${name} ${String(fields[field])}`);
      },
    };
    const self = { node: n2, datacenter: 'dc1', rack: 'r1', tokens: [0 as Token] };
    const ring = new Ring([self]);
    this.driver = new BranchDriver(
      {
        io: { clock: new TestClock(), log, spawn: (_name, task) => void task().catch(fail) },
        metrics: new TransactionMetrics(),
        retention: new RetentionClock(new TestClock()),
        names: { enter: ({ clientId }) => note(`enter key ${clientId}`) },
        spread: { carry: ({ clientId }) => note(`carry key ${clientId}`) },
        log: {
          force: ([record]) => {
            note(`force ${stateOf(record)}`);
            return (this.forced = new Deferred<LockstepError | undefined>()).promise;
          },
          later: ({ value }) => note(value === undefined ? 'drop' : 'keep'),
        },
        parts: {
          ring: () => ring,
          pending: () => [],
          replica: this.replica,
        },
      },
      this.table,
      this.locks,
      (_branch, [record], { alone, decided }, done) => {
        note(`write ${stateOf(record)}${alone ? ' alone' : ''}${decided ? ' decided' : ''}`);
        this.wrote = done;
      },
    );
    this.driver.inquireWith({
      askCoordinator: () => note('ask coordinator'),
      askBranches: () => note('ask branches'),
    });
  }

  /** A branch in that phase, as the steps that lead there would leave it. */
  branchIn(phase: BranchPhase): Branch {
    const branch = new Branch(xid, order, [place], 0, phase, 0);
    branch.isRecorded = true;
    branch.decision = { record: decisionRecord };
    if (!isOver(phase)) this.table.add(branch);
    if (holdsLocks(phase)) this.locks.take(xid, [place]);
    return branch;
  }

  /** What the driver has done since the last call. */
  taken(): readonly string[] {
    return this.journal.splice(0);
  }
}

describe('the driver of branches', () => {
  it('performs every command of every step that the protocol can take, in order, and nothing else', async () => {
    const performed = new Set<string>();
    for (const phase of reachablePhases()) {
      for (const event of allEvents) {
        const lab = new DriverHarness();
        const branch = lab.branchIn(phase);
        const step = stepBranch(phase, event);
        lab.driver.post(branch, event);
        const title = `${phase}, ${JSON.stringify(event)}`;
        const expected = step.commands.flatMap((command) => tracesOf(command, step.phase));
        expect(lab.taken(), title).toEqual(expected);
        expect(branch.phase, title).toBe(step.phase);
        expect(lab.table.has(xid), title).toBe(!isOver(step.phase));
        expect(lab.locks.size, title).toBe(holdsLocks(step.phase) ? 1 : 0);
        expect(branch.mayAcknowledge, title).toBe(step.commands.some(({ kind }) => kind === 'acknowledge'));
        const votes = step.commands.flatMap(({ kind }) => voteNames[kind] ?? []);
        expect(branch.voted.settled, title).toBe(votes.length > 0);
        if (branch.voted.settled) expect([(await branch.voted.promise).vote], title).toEqual(votes);
        for (const command of step.commands) performed.add(describeBranchCommand(command));
      }
    }
    expect([...performed].sort()).toMatchInlineSnapshot(`
      [
        "acknowledge",
        "apply decided",
        "apply heuristic",
        "apply onePhase",
        "apply onePhaseUnrecorded",
        "apply withDecision",
        "askBranches",
        "askCoordinator",
        "dropRecord",
        "forceHeuristicRollback",
        "forceOutcome applied",
        "forceOutcome heuristicMixed",
        "forcePrepare",
        "release",
        "reportMixed commit",
        "reportMixed rollback",
        "voteAbort",
        "voteCommit",
        "voteReadOnly",
      ]
    `);
  });

  it('takes a branch from its prepare to its end by events alone', async () => {
    const lab = new DriverHarness();
    const branch = new Branch(xid, order, [place], 0, 'preparing', 0);
    lab.driver.enter(branch, 'p.locks.taken');
    lab.driver.post(branch, { kind: 'checked' });
    lab.forced.resolve(undefined);
    await branch.forcing;
    expect(lab.taken()).toEqual(['force prepared', 'xa.p.vote.sent readOnly']);
    lab.driver.post(branch, { kind: 'commitHeard' });
    const round = new Deferred<boolean>();
    lab.wrote({ met: round.promise, expire: () => undefined });
    expect(branch.phase).toBe('applied');
    round.resolve(true);
    expect(await branch.applying).toBe(true);
    lab.driver.post(branch, { kind: 'forgetHeard' });
    expect(lab.taken()).toEqual(['write applied decided', `xa.p.locks.released ${xid}`, 'drop']);
    expect([branch.phase, lab.table.all, lab.locks.size]).toEqual(['gone', [], 0]);
  });

  it('sends no mark that a key ahead of the clock exceeds', async () => {
    const writing = {
      ...order,
      operations: [
        {
          ...place,
          content: tombstone,
          context: undefined,
          ifMatch: undefined,
          ifAbsent: false,
          check: false,
        },
      ],
    };
    const ahead = applyWrite(undefined, [], tombstone, { actor: 'a' as Actor, counter: 9 }, 1);
    const marks: string[] = [];
    for (const found of [[ahead], new LockstepError('Corrupted'), undefined]) {
      const lab = new DriverHarness();
      lab.replica.mayExceedMark = true;
      const branch = new Branch(xid, writing, [place], 0, 'preparing', 0);
      lab.driver.enter(branch, 'p.locks.taken');
      lab.driver.post(branch, { kind: 'checked' });
      lab.forced.resolve(undefined);
      await settle();
      // Whatever others write from now on has another actor.
      expect([lab.locks.closed(place.key), branch.voted.settled]).toEqual([true, false]);
      if (found === undefined) lab.driver.post(branch, { kind: 'rollbackHeard' });
      lab.read(
        found instanceof LockstepError ? found : undefined,
        found instanceof LockstepError ? [] : (found ?? []),
      );
      await settle();
      expect(branch.phase).toBe(found === undefined ? 'rolledBack' : 'prepared');
      if (found !== undefined) marks.push((await branch.voted.promise).detail);
    }
    expect(marks).toEqual(['a 1 0:9', '']);
  });

  it('lets a branch vote abort when its prepare record may not be durable', async () => {
    const lab = new DriverHarness();
    const branch = lab.branchIn('preparing');
    lab.driver.post(branch, { kind: 'checked' });
    lab.forced.resolve(new LockstepError('Corrupted'));
    await settle();
    expect(lab.taken()).toEqual([
      'force prepared',
      `xa.p.locks.released ${xid}`,
      'xa.p.vote.sent abort',
      'drop',
    ]);
    expect(branch.phase).toBe('gone');
  });

  it('keeps a branch prepared, and locked, when the disk refuses its batch', async () => {
    const lab = new DriverHarness();
    const branch = lab.branchIn('prepared');
    lab.driver.post(branch, { kind: 'commitHeard' });
    const error = new LockstepError('Corrupted');
    lab.wrote(error);
    expect(await branch.applying).toBe(error);
    expect([branch.phase, branch.mayAcknowledge, lab.locks.size]).toEqual(['prepared', false, 1]);
  });

  it('acknowledges the commit of an operator’s rollback only once that is durable', async () => {
    const lab = new DriverHarness();
    const branch = lab.branchIn('heuristicRolledBack');
    lab.driver.post(branch, { kind: 'commitHeard' });
    expect([branch.mayAcknowledge, branch.phase]).toEqual([false, 'heuristicRolledBack']);
    lab.forced.resolve(undefined);
    await branch.forcing;
    expect([branch.mayAcknowledge, branch.phase]).toEqual([true, 'heuristicMixed']);
    expect(lab.taken()).toEqual(['force heuristicMixed', 'xa.branch.mixed commit']);
  });

  it('refuses to go on with a branch that has lost its locks, or that votes without a record', () => {
    const unlocked = new DriverHarness();
    const prepared = unlocked.branchIn('prepared');
    unlocked.locks.release(xid, [place]);
    expect(() => unlocked.driver.post(prepared, { kind: 'waited' })).toThrow(AssertionError);
    const unrecorded = new DriverHarness();
    const preparing = unrecorded.branchIn('preparing');
    preparing.isRecorded = false;
    expect(() => unrecorded.driver.post(preparing, { kind: 'prepareForced', writes: true })).toThrow(
      AssertionError,
    );
  });
});
