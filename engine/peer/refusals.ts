/**
 * What the log says of refusals, of which a peer that is refused makes one with every attempt, for ever: the first one
 * of a peer, and each with another reason than the one before, at `warn` and at once; the same again at `debug`, and at
 * `warn` once in `toldAgainUs` with how many there were meanwhile. Every one of them is counted by the observer.
 *
 * Peers are told apart by name, direction, by who refuses, and (inbound) by the caller's host; that many are remembered
 * as `RecentMap` keeps of `rememberedMax`, since a stranger may call itself anything.
 */
import { RecentMap } from '../base/recent-map.ts';
import type { Io } from '../io/io.ts';
import type { Address } from '../io/network.ts';
import type { Refusal, RefusalReason } from './wire/greetings.ts';
import type { Direction, PeerObserver } from './observer.ts';

const toldAgainUs = 600_000_000;
const rememberedMax = 1024;

/** Between whom, and who would not talk. `remote` where the other side called: its name is only what it says. */
export interface Refused {
  /** Empty when it has not said its name. */
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

export class Refusals {
  readonly #io: Pick<Io, 'clock' | 'log'>;
  readonly #observer: Pick<PeerObserver, 'peerRefused'>;
  readonly #told = new RecentMap<string, Told>(rememberedMax);

  constructor(io: Pick<Io, 'clock' | 'log'>, observer: Pick<PeerObserver, 'peerRefused'>) {
    this.#io = io;
    this.#observer = observer;
  }

  /** Counts the refusal, and logs it. */
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
    // Entered again: a peer that keeps calling is not forgotten for others that do.
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

  /** There is no more refusing: the next one is news. */
  over(refused: Refused): void {
    this.#told.delete(keyOf(refused));
  }
}

/** A caller's port is another one with every call. */
function keyOf({ peer, direction, by, remote = '' }: Refused): string {
  return `${direction} ${by} ${remote.slice(0, remote.lastIndexOf(':'))} ${peer}`;
}
