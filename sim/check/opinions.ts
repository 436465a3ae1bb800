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

export class Opinions {
  readonly moves: readonly OpinionMove[];
  readonly #byPair = new Map<string, OpinionMove[]>();

  constructor(moves: readonly OpinionMove[]) {
    this.moves = moves;
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
    for (const { atUs, to } of this.of(observer, peer)) {
      if (atUs < fromUs) before = to;
      else if (atUs <= toUs) states.add(to);
    }
    return states.add(before);
  }
}
