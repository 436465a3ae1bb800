/**
 * A key's token and its replicas, looked up once for all steps of a request. The ring may change between two steps;
 * only then are the replicas looked up again.
 */
import type { Token } from '../../base/ids.ts';
import type { Placement, Ring } from './ring.ts';

/** Where one key lives. */
export class KeyPlacement {
  readonly token: Token;
  #ring: Ring;
  #replicas: Placement;

  /** Looks the replicas of `token` up in `ring`. */
  constructor(token: Token, ring: Ring) {
    this.token = token;
    this.#ring = ring;
    this.#replicas = ring.placement(token);
  }

  /** The key's replicas in `ring`, the primary first. */
  in(ring: Ring): Placement {
    if (ring !== this.#ring) {
      this.#ring = ring;
      this.#replicas = ring.placement(this.token);
    }
    return this.#replicas;
  }
}
