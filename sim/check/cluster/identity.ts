/**
 * `node-identity` (INV19), identity: a name belongs to one incarnation of one process at a time. Once a node has
 * greeted a newer incarnation of a peer, it answers no request of an older one. A node greets its peers only with an
 * incarnation number that its disk certainly holds (skipped: identity files that a fault has altered). A second process
 * on a directory in use is refused, and so is a start whose configuration names an invalid token. `ring-agreement`
 * checks that no node takes an impostor for a member.
 */
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally, uncounted } from '../report.ts';

/** A node's answer to a peer's request; the connection had been greeted as this incarnation. */
export interface AnswerRecord {
  readonly node: string;
  readonly peer: string;
  readonly atUs: number;
  /** The connection's incarnation, and the newest incarnation of that name that the node had greeted. */
  readonly life: string;
  readonly newest: string;
}

/** A start that must be refused; `refused` is the error's code, empty if the process served. */
export interface ForbiddenStart {
  readonly what: string;
  readonly atUs: number;
  readonly refused: string;
  readonly expected: string;
}

/** A greeting that a node sent, once for each incarnation number. */
export interface GreetingRecord {
  readonly node: string;
  readonly atUs: number;
  readonly generation: number;
  /** The number in the identity file that every crash would leave; 0 without one, undefined if a fault altered it. */
  readonly durable: number | undefined;
}

/** Who answered whom, greetings, and starts that must be refused. */
export interface IdentityEvidence {
  readonly identities: readonly AnswerRecord[];
  readonly greetings: readonly GreetingRecord[];
  readonly forbiddenStarts: readonly ForbiddenStart[];
}

/** The row of `node-identity`. */
export const nodeIdentityRow = invariant({
  name: 'node-identity',
  code: 'INV19',
  promise: 'a node name is one incarnation at a time',
  gravity: 'data',
  breach: 'two processes act under one name, or a request of a past incarnation is served',
  needs: ['routes'],
  everydayFloor: 100,
  check: ({ identities, forbiddenStarts, greetings }: IdentityEvidence) =>
    checkIdentity(identities, forbiddenStarts, greetings),
});

/** Checks answers between nodes, starts that must be refused, and greetings. */
export function checkIdentity(
  answers: readonly AnswerRecord[],
  starts: readonly ForbiddenStart[],
  greetings: readonly GreetingRecord[] = [],
): CheckReport {
  const tally = new Tally('node-identity');
  for (const { node, peer, atUs, life, newest } of answers) {
    tally.compare(life === newest, atUs, () => {
      return `${node} answered ${peer} in its life ${life}, after it had greeted its life ${newest}`;
    });
  }
  const greeted = new Tally('node-identity');
  for (const { node, atUs, generation, durable } of greetings) {
    if (durable === undefined) greeted.skip();
    else
      greeted.compare(generation <= durable, atUs, () => {
        return `${node} greets as incarnation ${generation}, and a crash would leave ${durable}`;
      });
  }
  for (const { what, atUs, refused, expected } of starts) {
    tally.compare(refused === expected, atUs, () => {
      return `${what}: ${refused === '' ? 'it started' : refused}, expected ${expected}`;
    });
  }
  return joinReports(tally.report(), uncounted(greeted.report()));
}
