/**
 * Nodes' opinions of each other in the course of a run, from their logs: each change of a peer's state, by observing
 * node and incarnation. An incarnation begins with every peer UNKNOWN.
 */
export interface OpinionMove {
  readonly observer: string;
  readonly life: number;
  readonly peer: string;
  readonly from: string;
  readonly to: string;
  readonly atUs: number;
}

/** The start of an incarnation, which has no opinions yet. */
export interface IncarnationStart {
  readonly observer: string;
  readonly atUs: number;
}

/** The opinions of all nodes of a run. */
export class Opinions {
  readonly moves: readonly OpinionMove[];
  readonly #begins: readonly IncarnationStart[];
  readonly #byPair = new Map<string, OpinionMove[]>();

  /** Both in the order in which they happened. */
  constructor(moves: readonly OpinionMove[], begins: readonly IncarnationStart[] = []) {
    this.moves = moves;
    this.#begins = begins;
    for (const move of moves) {
      const pair = `${move.observer} ${move.peer}`;
      const known = this.#byPair.get(pair);
      if (known === undefined) this.#byPair.set(pair, [move]);
      else known.push(move);
    }
  }

  /** Every change of the observing node's opinion of the peer, in order. */
  of(observer: string, peer: string): readonly OpinionMove[] {
    return this.#byPair.get(`${observer} ${peer}`) ?? [];
  }

  /** The states that the observing node may have assigned to the peer between these instants, both included. */
  between(observer: string, peer: string, fromUs: number, toUs: number): ReadonlySet<string> {
    const states = new Set<string>();
    let before = 'UNKNOWN';
    let beforeUs = -Infinity;
    for (const { atUs, to } of this.of(observer, peer)) {
      if (atUs < fromUs) [before, beforeUs] = [to, atUs];
      else if (atUs <= toUs) states.add(to);
    }
    for (const begin of this.#begins) {
      if (begin.observer !== observer || begin.atUs > toUs) continue;
      // A new incarnation forgets its predecessor's opinions.
      if (begin.atUs >= fromUs) states.add('UNKNOWN');
      else if (begin.atUs >= beforeUs) before = 'UNKNOWN';
    }
    return states.add(before);
  }
}
