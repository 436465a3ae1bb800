/**
 * The branch protocol against goldens that read as prose, and against random events. `npx vitest run
 * engine/transactions/protocol -u` rewrites the goldens.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { BranchEvent, BranchPhase } from './branch-protocol.ts';
import { votedAbort } from '../formats/prepare-request.ts';
import { describeBranchCommand, holdsLocks, isUnderWay, knownOf, stepBranch } from './branch-protocol.ts';

const vote = votedAbort('prepare_failed', 'the disk is full');

const heard = {
  refused: { kind: 'refused', vote },
  checked: { kind: 'checked' },
  readied: { kind: 'readied', writes: true },
  readiedReadOnly: { kind: 'readied', writes: false },
  prepared: { kind: 'prepareForced', writes: true },
  preparedReadOnly: { kind: 'prepareForced', writes: false },
  lost: { kind: 'prepareLost', vote },
  onePhase: { kind: 'onePhaseChecked', recorded: true },
  onePhaseUnrecorded: { kind: 'onePhaseChecked', recorded: false },
  answered: { kind: 'onePhaseAnswered' },
  commit: { kind: 'commitHeard' },
  rollback: { kind: 'rollbackHeard' },
  applied: { kind: 'applyForced' },
  heuristicForced: { kind: 'heuristicForced' },
  heuristicFailed: { kind: 'heuristicFailed' },
  outcomeForced: { kind: 'outcomeForced' },
  failed: { kind: 'applyFailed' },
  refusedByDisk: { kind: 'applyRefused' },
  waited: { kind: 'waited' },
  silent: { kind: 'coordinatorSilent' },
  forget: { kind: 'forgetHeard' },
  operatorForgets: { kind: 'operatorForgot' },
  operatorCommits: { kind: 'operatorDecided', decision: 'commit' },
  operatorRollsBack: { kind: 'operatorDecided', decision: 'rollback' },
} as const satisfies Record<string, BranchEvent>;

const plays: readonly [title: string, start: BranchPhase, events: readonly (keyof typeof heard)[]][] = [
  [
    'A branch votes once its record is durable, acknowledges once its writes are, and forgets on command.',
    'preparing',
    ['checked', 'prepared', 'commit', 'applied', 'forget'],
  ],
  [
    'A branch whose conditions do not hold votes abort and leaves no record.',
    'preparing',
    ['refused', 'commit'],
  ],
  [
    'At the coordinator’s own node, a branch votes without a record and is applied with the decision.',
    'preparing',
    ['readied', 'waited', 'commit', 'applied', 'commit', 'forget'],
  ],
  [
    'The coordinator rolls its own branch back before the decision: the branch leaves no record.',
    'preparing',
    ['readied', 'rollback', 'commit'],
  ],
  [
    'The disk refuses the decision and the writes of the coordinator’s own branch: it is rolled back.',
    'preparing',
    ['readied', 'commit', 'refusedByDisk', 'rollback'],
  ],
  [
    'The disk may hold the decision and the writes of the coordinator’s own branch: it waits for a restart.',
    'preparing',
    ['readied', 'commit', 'failed', 'waited', 'silent', 'operatorRollsBack', 'rollback', 'commit'],
  ],
  [
    'A branch that has nothing to write votes read-only and keeps its locks until its coordinator says forget.',
    'preparing',
    ['checked', 'preparedReadOnly', 'waited', 'silent', 'forget', 'forget'],
  ],
  [
    'At the coordinator’s own node, a branch that has nothing to write leaves no record.',
    'preparing',
    ['readiedReadOnly', 'forget', 'rollback'],
  ],
  ['A repeated commit applies the branch once.', 'prepared', ['commit', 'commit', 'applied', 'commit']],
  ['A repeated rollback rolls the branch back once.', 'prepared', ['rollback', 'rollback']],
  [
    'A branch whose prepare record may not be durable votes abort.',
    'preparing',
    ['checked', 'lost', 'commit'],
  ],
  [
    'The coordinator rolls a branch back while its prepare record is on its way to the disk.',
    'preparing',
    ['checked', 'rollback', 'prepared'],
  ],
  [
    'A branch that waits asks its coordinator first, then the other branches.',
    'prepared',
    ['waited', 'silent', 'commit', 'applied'],
  ],
  [
    'The disk refuses the writes: the branch stays prepared, and the repeated commit applies it.',
    'prepared',
    ['commit', 'failed', 'commit', 'applied'],
  ],
  [
    'The only branch of a transaction is applied in one phase, and its record answers for the outcome.',
    'preparing',
    ['onePhase', 'commit', 'rollback', 'applied', 'forget'],
  ],
  [
    'In one phase without a record, the answer ends the branch.',
    'preparing',
    ['onePhaseUnrecorded', 'applied', 'answered'],
  ],
  [
    'In one phase, a failed write ends the branch with the answer, and not before.',
    'preparing',
    ['onePhase', 'failed', 'waited', 'forget', 'answered'],
  ],
  ['In one phase, a branch that is refused or only checks is never written.', 'preparing', ['answered']],
  [
    'An operator rolls back what the coordinator commits: the branch reports it once, however often the commit comes.',
    'prepared',
    [
      'operatorRollsBack',
      'heuristicForced',
      'commit',
      'outcomeForced',
      'commit',
      'waited',
      'rollback',
      'forget',
    ],
  ],
  [
    'An operator rolls back what the coordinator commits, and the commit comes twice before that is durable.',
    'prepared',
    ['operatorRollsBack', 'heuristicForced', 'commit', 'commit', 'outcomeForced', 'outcomeForced'],
  ],
  [
    'The disk refuses an operator’s decision: the branch is prepared as before, and may be decided again.',
    'prepared',
    [
      'operatorRollsBack',
      'commit',
      'rollback',
      'heuristicFailed',
      'operatorCommits',
      'failed',
      'operatorRollsBack',
      'heuristicForced',
    ],
  ],
  [
    'An operator commits what the coordinator commits: the branch knows the outcome, and asks no more.',
    'prepared',
    [
      'operatorCommits',
      'commit',
      'applied',
      'commit',
      'outcomeForced',
      'waited',
      'commit',
      'rollback',
      'forget',
    ],
  ],
  [
    'An operator decides for a coordinator that is gone for good, and later gives up the comparison.',
    'prepared',
    [
      'operatorForgets',
      'operatorCommits',
      'operatorForgets',
      'applied',
      'waited',
      'operatorForgets',
      'commit',
    ],
  ],
  [
    'An operator commits what the coordinator rolls back.',
    'prepared',
    ['operatorCommits', 'applied', 'rollback'],
  ],
];

function play([title, start, events]: (typeof plays)[number]): string {
  const lines = [title, `    (${start})`];
  let phase = start;
  for (const name of events) {
    const step = stepBranch(phase, heard[name]);
    ({ phase } = step);
    const commands = step.commands.map(describeBranchCommand).join(', ');
    lines.push(`${name} -> ${commands === '' ? 'nothing' : commands}`, `    (${phase})`);
  }
  return lines.join('\n');
}

describe('a branch', () => {
  it('tells other branches the coordinator’s outcome, and never an operator’s decision over itself', () => {
    expect(knownOf('applied')).toBe('committed');
    const silent = [
      'prepared',
      'heuristicCommitting',
      'heuristicCommitted',
      'heuristicRolledBack',
      'heuristicMixed',
    ] as const;
    for (const phase of silent) expect(knownOf(phase), phase).toBe('undecided');
  });

  it('steps as the goldens of its protocol say', async () => {
    await expect(`${plays.map(play).join('\n\n')}\n`).toMatchFileSnapshot('testdata/branch-plays.txt');
  });

  it('votes commit only from a durable record, applies once, and releases its locks exactly once', () => {
    const names = Object.keys(heard) as (keyof typeof heard)[];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...names), { maxLength: 20 }), (events) => {
        let phase: BranchPhase = 'preparing';
        const counts = { voteCommit: 0, release: 0, applyForced: 0 };
        for (const name of events) {
          // The driver reports the end of a step only while it is under way.
          const applying = isUnderWay(phase) || phase === 'heuristicCommitting';
          if (['applied', 'failed', 'refusedByDisk'].includes(name) && !applying) continue;
          if (name.startsWith('heuristic') && phase !== 'heuristicRollingBack') continue;
          const held = holdsLocks(phase);
          const step = stepBranch(phase, heard[name]);
          for (const { kind } of step.commands) if (kind in counts) counts[kind as keyof typeof counts] += 1;
          if (name === 'applied') counts.applyForced += 1;
          if (step.commands.some(({ kind }) => kind === 'voteCommit'))
            expect(['prepared', 'readied']).toContain(name);
          ({ phase } = step);
          const released = step.commands.some(({ kind }) => kind === 'release');
          expect(released).toBe(held && !holdsLocks(phase));
        }
        expect(counts.voteCommit).toBeLessThanOrEqual(1);
        expect(counts.applyForced).toBeLessThanOrEqual(1);
        expect(counts.release).toBeLessThanOrEqual(1);
      }),
      { numRuns: 2000 },
    );
  });
});
