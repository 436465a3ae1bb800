/**
 * Logs refusals. A peer that is refused tries again and again, and each attempt is refused. The first refusal of a
 * peer, and each with another reason than the one before, is logged at `warn`. Repetitions are logged at `debug`, and
 * once in `toldAgainUs` at `warn` with their number. The observer counts every refusal.
 *
 * Peers are told apart by name, direction, the refusing side, and (inbound) the caller's host. As many are remembered
 * as a `RecentMap` of `rememberedMax` keeps, since an unauthenticated client may use any name.
 */
import { RecentMap } from '../base/recent-map.ts';
import type { Io } from '../io/io.ts';
import type { Address } from '../io/network.ts';
import type { Refusal, RefusalReason } from './wire/greetings.ts';
import type { Direction, PeerObserver } from './observer.ts';

const toldAgainUs = 600_000_000;
const rememberedMax = 1024;

/**
 * Which connection was refused, and by which side. `remote`: on an inbound connection, whose peer name is only a claim.
 */
export interface Refused {
  /** Empty if the peer has not given its name. */
  readonly peer: string;
  readonly direction: Direction;
  readonly by: 'refused here' | 'refused by the peer';
  readonly remote?: Address;
}

interface Told {
  readonly reason: RefusalReason;
  atUs: number;
  /** Since then. */
  repeats: number;
}

/** The refusals of one node. */
export class Refusals {
  readonly #io: Pick<Io, 'clock' | 'log'>;
  readonly #observer: Pick<PeerObserver, 'peerRefused'>;
  readonly #told = new RecentMap<string, Told>(rememberedMax);

  constructor(io: Pick<Io, 'clock' | 'log'>, observer: Pick<PeerObserver, 'peerRefused'>) {
    this.#io = io;
    this.#observer = observer;
  }

  /** Counts and logs the refusal. */
  tell(refused: Refused, { reason, detail }: Pick<Refusal, 'reason' | 'detail'>): void {
    const { clock, log } = this.#io;
    this.#observer.peerRefused(refused.direction, reason);
    const key = keyOf(refused);
    const nowUs = clock.nowUs();
    const told = this.#told.get(key);
    const fields = { ...refused, reason, detail };
    if (told?.reason !== reason) {
      this.#told.set(key, { reason, atUs: nowUs, repeats: 0 });
      log.event('warn', 'peer.link.refused', fields);
      return;
    }
    // Set again, so that a peer that keeps trying is not dropped in favour of others.
    this.#told.set(key, told);
    told.repeats += 1;
    if (nowUs - told.atUs < toldAgainUs) {
      if (log.enabled('debug')) log.event('debug', 'peer.link.refused', fields);
      return;
    }
    log.event('warn', 'peer.link.refused', { ...fields, repeats: told.repeats });
    told.atUs = nowUs;
    told.repeats = 0;
  }

  /** The peer is no longer refused: its next refusal is logged at `warn`. */
  over(refused: Refused): void {
    this.#told.delete(keyOf(refused));
  }
}

/** Without the port: it differs with every connection. */
function keyOf({ peer, direction, by, remote = '' }: Refused): string {
  return `${direction} ${by} ${remote.slice(0, remote.lastIndexOf(':'))} ${peer}`;
}
