/**
 * `node-identity` (INV19), identity: a name stands for one life of one process at a time. Once a node has greeted a
 * newer life of a peer, it answers no request of an older one; a second process on a directory in use is refused, and
 * so is one whose configuration names a token that is none. That nobody takes an impostor for a member is
 * `ring-agreement`'s.
 */
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** A node wrote an answer to a peer's request, which came by a connection that had been greeted as this life. */
export interface AnswerRecord {
  readonly node: string;
  readonly peer: string;
  readonly atUs: number;
  /** The life that the connection belongs to, and the newest of that name which the node had greeted. */
  readonly life: string;
  readonly newest: string;
}

/** Somebody started what must not start; `refused` is the error's code, empty when it served. */
export interface ForbiddenStart {
  readonly what: string;
  readonly atUs: number;
  readonly refused: string;
  readonly expected: string;
}

export function checkIdentity(
  answers: readonly AnswerRecord[],
  starts: readonly ForbiddenStart[],
): CheckReport {
  const tally = new Tally('node-identity');
  for (const { node, peer, atUs, life, newest } of answers) {
    tally.compare(life === newest, atUs, () => {
      return `${node} answered ${peer} in its life ${life}, after it had greeted its life ${newest}`;
    });
  }
  for (const { what, atUs, refused, expected } of starts) {
    tally.compare(refused === expected, atUs, () => {
      return `${what}: ${refused === '' ? 'it started' : refused}, expected ${expected}`;
    });
  }
  return tally.report();
}
