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
/** A link that is refused tries again within seconds. A refusal older than this says nothing about now. */
const currentUsMax = 60_000_000;

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

const sides: readonly Refused['by'][] = ['refused here', 'refused by the peer'];

/** Why this node's connection to a peer was refused the last time. */
export interface CurrentRefusal {
  readonly peer: string;
  readonly by: Refused['by'];
  readonly reason: RefusalReason;
  /** What is wrong and what is allowed, as text for people. */
  readonly detail: string;
}

interface Told {
  readonly reason: RefusalReason;
  detail: string;
  atUs: number;
  lastUs: number;
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
      this.#told.set(key, { reason, detail, atUs: nowUs, lastUs: nowUs, repeats: 0 });
      log.event('warn', 'peer.link.refused', fields);
      return;
    }
    // Set again, so that a peer that keeps trying is not dropped in favour of others.
    this.#told.set(key, told);
    told.repeats += 1;
    told.detail = detail;
    told.lastUs = nowUs;
    if (nowUs - told.atUs < toldAgainUs) {
      if (log.enabled('debug')) log.event('debug', 'peer.link.refused', fields);
      return;
    }
    log.event('warn', 'peer.link.refused', { ...fields, repeats: told.repeats });
    told.atUs = nowUs;
    told.repeats = 0;
  }

  /** The refusal of this node's connection to `peer` that came last, within the last minute; undefined if there is none. */
  current(peer: string): CurrentRefusal | undefined {
    const sinceUs = this.#io.clock.nowUs() - currentUsMax;
    const found = sides.flatMap((by) => {
      const told = this.#told.get(keyOf({ peer, direction: 'outbound', by }));
      return told === undefined || told.lastUs < sinceUs ? [] : [{ by, ...told }];
    });
    const [last] = found.sort((one, other) => other.lastUs - one.lastUs);
    return last === undefined ? undefined : { peer, by: last.by, reason: last.reason, detail: last.detail };
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
