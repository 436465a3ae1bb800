/**
 * The ages of hints, as nodes must count them (`hint_age_seconds_max`): by the monotonic clock of the node that stores
 * the hint, going on from the newest hint on the disk at the start of an incarnation, or from its wall clock where the
 * disk holds none. A jump of the wall clock ages no hint.
 */

/** The clocks of one host. */
interface HostClocks {
  /** Microseconds that no jump moves. */
  readonly localUs: number;
  readonly wallMs: number;
}

/** The ages of all nodes' hints. */
export class HintAges {
  readonly #clocksOf: (host: string) => HostClocks;
  readonly #ageMsMaxOf: (host: string) => number;
  readonly #mayMisread: (host: string) => boolean;
  readonly #starts = new Map<string, { readonly fromMs: number; readonly fromUs: number }>();

  /** `mayMisread`: the host may fail to read its newest hint, and go on from its wall clock then. */
  constructor(
    clocksOf: (host: string) => HostClocks,
    ageMsMaxOf: (host: string) => number,
    mayMisread: (host: string) => boolean,
  ) {
    this.#clocksOf = clocksOf;
    this.#ageMsMaxOf = ageMsMaxOf;
    this.#mayMisread = mayMisread;
  }

  /** An incarnation begins; `newestMs`: the stamp of the newest hint on its disk, undefined if there is none. */
  began(host: string, newestMs: number | undefined): void {
    const { localUs, wallMs } = this.#clocksOf(host);
    const fromMs = this.#mayMisread(host) ? Math.max(newestMs ?? wallMs, wallMs) : (newestMs ?? wallMs);
    this.#starts.set(host, { fromMs, fromUs: localUs });
  }

  /** Whether the node may give up a hint with this stamp, because it is too old. */
  isTooOld(host: string, writtenMs: number): boolean {
    const start = this.#starts.get(host);
    if (start === undefined) return false;
    const nowMs = start.fromMs + Math.ceil((this.#clocksOf(host).localUs - start.fromUs) / 1000);
    return nowMs - writtenMs > this.#ageMsMaxOf(host);
  }
}
