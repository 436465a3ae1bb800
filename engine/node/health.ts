/**
 * Whether this node can serve its share of the keys, for `/health/ready`. Each reason is read from the module that it
 * concerns at the moment of the question; only the phase of the node's own life is kept here.
 */
import type { HealthSource, HealthWarningCode, NotReadyCode } from '../api/stats/health.ts';
import type { Fencing } from '../cluster/membership/fencing.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { Store } from '../storage/store.ts';

/** The modules whose condition decides. */
export interface HealthDependencies {
  readonly store: Pick<Store, 'state' | 'lacksRoom'>;
  /** Undefined if hinted handoff is off. */
  readonly hintStore: Pick<Store, 'state' | 'lacksRoom'> | undefined;
  readonly membership: Pick<Membership, 'self' | 'peers' | 'hasPublished' | 'isRoutable' | 'agrees'>;
  readonly fencing: Pick<Fencing, 'isMember'>;
  /** Why the node leads no keys: a rebuild or a takeover. Undefined if it does. */
  readonly notReadyReason: () => string | undefined;
}

/** The health of one node. Lifecycle: `serving` once all listeners are open, `stopping` when the stop begins. */
export class Health implements HealthSource {
  readonly #parts: HealthDependencies;
  #phase: 'starting' | 'serving' | 'stopping' = 'starting';

  constructor(parts: HealthDependencies) {
    this.#parts = parts;
  }

  get node(): string {
    return this.#parts.membership.self.node;
  }

  /** All listeners are open. */
  serving(): void {
    this.#phase = 'serving';
  }

  /** The stop has begun. */
  stopping(): void {
    this.#phase = 'stopping';
  }

  get notReady(): readonly NotReadyCode[] {
    const { store, membership, fencing, notReadyReason } = this.#parts;
    const { state, left } = membership.self;
    const found: readonly (readonly [NotReadyCode, boolean])[] = [
      ['starting', this.#phase === 'starting'],
      ['stopping', this.#phase === 'stopping'],
      ['store_failed', store.state !== 'open' && !store.lacksRoom],
      ['disk_full', store.lacksRoom],
      ['joining', state === 'JOINING'],
      ['leaving', state === 'LEAVING' || left],
      ['standby', state === 'STANDBY'],
      ['not_a_member', !fencing.isMember],
      ['rebuilding', notReadyReason() !== undefined],
      ['ring_not_agreed', !this.#agrees()],
    ];
    return found.filter(([, holds]) => holds).map(([code]) => code);
  }

  get warnings(): readonly HealthWarningCode[] {
    const { hintStore } = this.#parts;
    if (hintStore?.state !== 'failed') return [];
    return [hintStore.lacksRoom ? 'hint_store_full' : 'hint_store_failed'];
  }

  /**
   * Whether this node's own ring view is published, and most of the reachable members, itself included, have it. Every
   * node meets members with another view for a moment while a ring change spreads. So one that differs does not count.
   */
  #agrees(): boolean {
    const { membership } = this.#parts;
    if (!membership.hasPublished) return false;
    const reachable = membership.peers.filter(({ node }) => membership.isRoutable(node));
    const agreeing = reachable.filter(({ node }) => membership.agrees(node));
    return 2 * (agreeing.length + 1) > reachable.length + 1;
  }
}
