/**
 * What nodes thought of each other in the course of a run, read off their logs: each change of a peer's state, by
 * observer and by the observer's life. A life begins with everybody UNKNOWN.
 */
export interface OpinionMove {
  readonly observer: string;
  readonly life: number;
  readonly peer: string;
  readonly from: string;
  readonly to: string;
  readonly atUs: number;
}

/** A node began a life: it has heard of nobody yet. */
export interface IncarnationStart {
  readonly observer: string;
  readonly atUs: number;
}

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

  /** Everything that the observer thought of the peer, in order. */
  of(observer: string, peer: string): readonly OpinionMove[] {
    return this.#byPair.get(`${observer} ${peer}`) ?? [];
  }

  /** What the observer may have thought of the peer at some time within these instants, both included. */
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
      // What an earlier life thought is forgotten.
      if (begin.atUs >= fromUs) states.add('UNKNOWN');
      else if (begin.atUs >= beforeUs) before = 'UNKNOWN';
    }
    return states.add(before);
  }
}
