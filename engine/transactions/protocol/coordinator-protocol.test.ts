/**
 * The coordinator's protocol against goldens that read as prose, and against random events. `npx vitest run
 * engine/transactions/protocol -u` rewrites the goldens.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { NodeId } from '../../base/ids.ts';
import type { Coordination, CoordinatorEvent } from './coordinator-protocol.ts';
import {
  describeCommand,
  describeCoordination,
  newCoordination,
  recoveredCoordination,
  stepCoordination,
} from './coordinator-protocol.ts';
import { makeXid } from '../formats/xid.fixture.ts';

const [n1, n2, n3] = ['n1', 'n2', 'n3'] as NodeId[] as [NodeId, NodeId, NodeId];
const xid = makeXid(n1, '0123456789ab', 1);

const begun: CoordinatorEvent = { kind: 'begun' };
const commit = (node: NodeId): CoordinatorEvent => ({ kind: 'voted', node, vote: 'commit' });
const readOnly = (node: NodeId): CoordinatorEvent => ({ kind: 'voted', node, vote: 'readOnly' });
const no = (node: NodeId): CoordinatorEvent => ({ kind: 'voted', node, vote: 'abort', reason: 'conflict' });
const silent = (node: NodeId): CoordinatorEvent => ({ kind: 'silent', node, reason: 'prepare_timeout' });
const acknowledged = (node: NodeId): CoordinatorEvent => ({ kind: 'acknowledged', node });
const forced: CoordinatorEvent = { kind: 'decisionForced' };
const refused: CoordinatorEvent = { kind: 'decisionRefused' };
const doubted: CoordinatorEvent = { kind: 'decisionDoubted' };
const abandoned = (node: NodeId): CoordinatorEvent => ({ kind: 'abandoned', node });
const reminded: CoordinatorEvent = { kind: 'reminded' };

const fresh = newCoordination(xid, [n1, n2, n3], false);
const forcedAbort = newCoordination(xid, [n1, n2], true);

const plays: readonly [title: string, start: Coordination, events: readonly CoordinatorEvent[]][] = [
  [
    'All branches vote commit: the decision is durable before the first commit, and ends after the last answer.',
    fresh,
    [begun, commit(n1), commit(n2), commit(n3), forced, acknowledged(n1), acknowledged(n3), acknowledged(n2)],
  ],
  [
    'A branch that writes nothing is left out of the decision, and hears forget.',
    fresh,
    [begun, commit(n1), readOnly(n2), commit(n3), forced, acknowledged(n1), acknowledged(n3)],
  ],
  [
    'No branch writes anything: no decision is recorded.',
    fresh,
    [begun, readOnly(n1), readOnly(n2), readOnly(n3)],
  ],
  [
    'One branch votes abort: no record, no acknowledgement, and a branch that votes commit too late is rolled back.',
    fresh,
    [begun, commit(n1), no(n2), commit(n3)],
  ],
  [
    'One branch does not answer in time: presumed abort. Its late vote changes nothing.',
    fresh,
    [begun, commit(n1), commit(n2), silent(n3), commit(n3), forced],
  ],
  [
    'The client wants the transaction aborted: all branches prepare and are rolled back.',
    forcedAbort,
    [begun, commit(n1), commit(n2)],
  ],
  [
    'The disk refuses the decision: there is none, and all branches are rolled back.',
    fresh,
    [begun, commit(n1), readOnly(n2), commit(n3), refused, reminded],
  ],
  [
    'A branch was lost with its disk: an operator abandons it once all others have acknowledged.',
    recoveredCoordination(xid, [n1, n3]),
    [reminded, acknowledged(n1), abandoned(n3), reminded],
  ],
  [
    'The disk may hold the decision: the coordinator says nothing until a restart.',
    fresh,
    [begun, commit(n1), commit(n2), commit(n3), doubted, silent(n1), reminded],
  ],
  [
    'A start finds the decision: the commit is repeated to every branch that has not acknowledged.',
    recoveredCoordination(xid, [n2, n3]),
    [reminded, acknowledged(n2), reminded, acknowledged(n3), acknowledged(n3)],
  ],
];

function play(title: string, start: Coordination, events: readonly CoordinatorEvent[]): string {
  const lines = [title, `    (${describeCoordination(start)})`];
  let state = start;
  for (const event of events) {
    const step = stepCoordination(state, event);
    ({ state } = step);
    const words = 'node' in event ? ` ${event.node}${'vote' in event ? ` ${event.vote}` : ''}` : '';
    const commands = step.commands.map(describeCommand).join(', ');
    lines.push(`${event.kind}${words} -> ${commands === '' ? 'nothing' : commands}`);
    lines.push(`    (${describeCoordination(state)})`);
  }
  return lines.join('\n');
}

describe('the coordinator', () => {
  it('steps as the goldens of its protocol say', async () => {
    const text = plays.map(([title, start, events]) => play(title, start, events)).join('\n\n');
    await expect(`${text}\n`).toMatchFileSnapshot('testdata/coordinator-plays.txt');
  });

  it('decides once: no commit without a durable decision, and no abort after one, in any order of events', () => {
    const node = fc.constantFrom(n1, n2, n3);
    const event: fc.Arbitrary<CoordinatorEvent> = fc.oneof(
      { weight: 6, arbitrary: node.map(commit) },
      node.map(readOnly),
      node.map(no),
      node.map(silent),
      { weight: 3, arbitrary: node.map(acknowledged) },
      { weight: 4, arbitrary: fc.constantFrom(forced, forced, refused, doubted, reminded) },
    );
    let commits = 0;
    fc.assert(
      fc.property(fc.array(event, { maxLength: 24 }), (events) => {
        let state = fresh;
        let decided = false;
        let told: string | undefined;
        for (const one of events) {
          const wasDeciding = state.phase === 'deciding';
          const step = stepCoordination(state, one);
          ({ state } = step);
          decided ||= one.kind === 'decisionForced' && wasDeciding;
          for (const command of step.commands) {
            if (command.kind === 'sendCommit') expect(decided).toBe(true);
            if (command.kind === 'sendRollback') expect(decided).toBe(false);
            if (command.kind !== 'conclude') continue;
            expect(told).toBe(undefined);
            told = command.outcome;
            if (told === 'committed') commits += 1;
          }
        }
      }),
      { numRuns: 2000 },
    );
    expect(commits).toBeGreaterThan(20);
  });
});
