/** Plays of a branch's protocol against goldens that read as prose (`npx vitest run engine/transactions -u` rewrites). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { BranchEvent, BranchPhase } from './branch-protocol.ts';
import { describeBranchCommand, knownOf, stepBranch } from './branch-protocol.ts';

const heard = {
  readied: { kind: 'readied', writes: true },
  seen: { kind: 'readied', writes: false },
  prepared: { kind: 'prepareForced', writes: true },
  checked: { kind: 'prepareForced', writes: false },
  lost: { kind: 'prepareLost' },
  commit: { kind: 'commitHeard' },
  rollback: { kind: 'rollbackHeard' },
  applied: { kind: 'applyForced' },
  handForced: { kind: 'heuristicForced' },
  handFailed: { kind: 'heuristicFailed' },
  outcomeForced: { kind: 'outcomeForced' },
  failed: { kind: 'applyFailed' },
  refused: { kind: 'applyRefused' },
  waited: { kind: 'waited' },
  silent: { kind: 'coordinatorSilent' },
  forget: { kind: 'forgetHeard' },
  operatorForgets: { kind: 'operatorForgot' },
  operatorCommits: { kind: 'operatorDecided', decision: 'commit' },
  operatorRollsBack: { kind: 'operatorDecided', decision: 'rollback' },
} as const satisfies Record<string, BranchEvent>;

const plays: readonly [title: string, start: BranchPhase, events: readonly (keyof typeof heard)[]][] = [
  [
    'It votes once its record is durable, acknowledges once its writes are, and forgets when told.',
    'preparing',
    ['prepared', 'commit', 'applied', 'forget'],
  ],
  [
    'At the coordinator’s own node: its vote is heard at once, and it is carried out with the decision.',
    'preparing',
    ['readied', 'waited', 'commit', 'applied', 'commit', 'forget'],
  ],
  [
    'There, rolled back before the decision: it leaves nothing.',
    'preparing',
    ['readied', 'rollback', 'commit'],
  ],
  [
    'There, the disk takes neither the decision nor the writes: it is rolled back.',
    'preparing',
    ['readied', 'commit', 'refused', 'rollback'],
  ],
  [
    'There, nobody knows whether both are on the disk: nobody is asked, nothing is done, until a restart looks.',
    'preparing',
    ['readied', 'commit', 'failed', 'waited', 'silent', 'operatorRollsBack', 'rollback', 'commit'],
  ],
  [
    'It has nothing to write: it votes read-only, and keeps its keys until it hears that it may forget.',
    'preparing',
    ['checked', 'waited', 'silent', 'forget', 'forget'],
  ],
  ['There, with nothing to write.', 'preparing', ['seen', 'forget', 'rollback']],
  ['Commit said twice is done once.', 'prepared', ['commit', 'commit', 'applied', 'commit']],
  ['It rolls back, and does so once.', 'prepared', ['rollback', 'rollback']],
  ['A record of which nobody knows whether it is there is no vote.', 'preparing', ['lost', 'commit']],
  ['Rolled back while its record is under way.', 'preparing', ['rollback', 'prepared']],
  ['It asks: first the coordinator, then the others.', 'prepared', ['waited', 'silent', 'commit', 'applied']],
  [
    'The disk refuses the writes: it stays prepared, and commits when told again.',
    'prepared',
    ['commit', 'failed', 'commit', 'applied'],
  ],
  [
    'An operator rolls back what the coordinator commits: that is told once, however often the commit comes.',
    'prepared',
    ['operatorRollsBack', 'handForced', 'commit', 'outcomeForced', 'commit', 'waited', 'rollback', 'forget'],
  ],
  [
    'The same, where the disk does not take at once that both are known.',
    'prepared',
    ['operatorRollsBack', 'handForced', 'commit', 'commit', 'outcomeForced', 'outcomeForced'],
  ],
  [
    'The disk does not take what an operator decides: it is prepared as before, and may be resolved again.',
    'prepared',
    [
      'operatorRollsBack',
      'commit',
      'rollback',
      'handFailed',
      'operatorCommits',
      'failed',
      'operatorRollsBack',
      'handForced',
    ],
  ],
  [
    'An operator commits what the coordinator commits: it has heard the outcome, and asks no more.',
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
    'An operator decides for a coordinator that is gone for good, and in the end forgets it.',
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
  it('tells others of an outcome that it knows, and of no operator’s decision over itself', () => {
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

  it('plays as the literature has it', async () => {
    await expect(`${plays.map(play).join('\n\n')}\n`).toMatchFileSnapshot('testdata/branch-plays.txt');
  });

  it('votes commit only from a forced record, applies once, and gives its locks back once', () => {
    const names = Object.keys(heard) as (keyof typeof heard)[];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...names), { maxLength: 20 }), (events) => {
        let phase: BranchPhase = 'preparing';
        const counts = { voteCommit: 0, release: 0, applyForced: 0 };
        for (const name of events) {
          // The driver reports the end of a step only while it is under way.
          const applying = ['committing', 'heuristicCommitting', 'deciding'].includes(phase);
          if (['applied', 'failed', 'refused'].includes(name) && !applying) continue;
          if (name.startsWith('hand') && phase !== 'heuristicRollingBack') continue;
          const step = stepBranch(phase, heard[name]);
          for (const { kind } of step.commands) if (kind in counts) counts[kind as keyof typeof counts] += 1;
          if (name === 'applied') counts.applyForced += 1;
          if (step.commands.some(({ kind }) => kind === 'voteCommit'))
            expect(['prepared', 'readied']).toContain(name);
          ({ phase } = step);
        }
        expect(counts.voteCommit).toBeLessThanOrEqual(1);
        expect(counts.applyForced).toBeLessThanOrEqual(1);
        expect(counts.release).toBeLessThanOrEqual(1);
      }),
      { numRuns: 2000 },
    );
  });
});
