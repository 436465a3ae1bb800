/**
 * Publishes the node's statistics once per interval: takes one frozen snapshot and replaces the preceding one. Both
 * formats are rendered from the snapshot alone, so they agree whenever they are rendered. Each is rendered at the first
 * request for it and shared by all readers. Unread publications are not rendered, and a slow reader holds at most the
 * publication that it reads.
 */
import { assert, present } from '../base/assert.ts';
import type { Timer } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import { Exposition } from './exposition.ts';
import { renderLegacyJson } from './legacy-json.ts';
import type { NodeStats } from './node-stats.ts';
import { histogramTurnUs } from './rolling-histogram.ts';
import type { StatsIdentity, StatsSnapshot } from './snapshot.ts';
import { takeSnapshot } from './snapshot.ts';

/** One snapshot and its renderings, each made on first use and kept. */
export class Publication {
  readonly snapshot: StatsSnapshot;
  readonly #exposition: Exposition;
  #json: Buffer | undefined;
  #metrics: Promise<Buffer> | undefined;

  constructor(snapshot: StatsSnapshot, exposition: Exposition) {
    this.snapshot = snapshot;
    this.#exposition = exposition;
  }

  /** The legacy JSON, UTF-8. */
  json(): Buffer {
    return (this.#json ??= Buffer.from(renderLegacyJson(this.snapshot), 'utf8'));
  }

  /** The text exposition, UTF-8. */
  metrics(): Promise<Buffer> {
    return (this.#metrics ??= this.#renderMetrics());
  }

  async #renderMetrics(): Promise<Buffer> {
    return Buffer.from(await this.#exposition.render(this.snapshot), 'utf8');
  }
}

/** The ports that the publisher needs. */
export type PublisherIo = Pick<Io, 'clock' | 'spawn' | 'residentBytes'>;

/** The publisher of one node. */
export class StatsPublisher {
  readonly #io: PublisherIo;
  readonly #stats: NodeStats;
  readonly #identity: StatsIdentity;
  readonly #intervalUs: number;
  readonly #exposition = new Exposition();
  readonly #startedUs: number;
  #turnedUs: number;
  #sequence = 0;
  #publication: Publication | undefined;
  #timer: Timer | undefined;
  #nextUs = 0;
  #stopped = false;

  /** The node's uptime counts from this call. `intervalMs` must be positive (`AssertionError`). */
  constructor(io: PublisherIo, stats: NodeStats, identity: StatsIdentity, intervalMs: number) {
    assert(intervalMs > 0, 'stats are published at an interval');
    this.#io = io;
    this.#stats = stats;
    this.#identity = identity;
    this.#intervalUs = intervalMs * 1000;
    this.#startedUs = io.clock.nowUs();
    this.#turnedUs = this.#startedUs;
  }

  /** Publishes for the first time; from then on `current` is defined, and renewed at every interval. */
  start(): void {
    this.#publish();
    this.#nextUs = this.#io.clock.nowUs();
    this.#arm();
  }

  /** Ends the publications; the last one stays. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** The latest publication. Throws `AssertionError` before `start`. */
  get current(): Publication {
    return present(this.#publication, 'the first stats publication');
  }

  /** A snapshot of the present values that is not published; it has the number of the latest publication. */
  take(): StatsSnapshot {
    return takeSnapshot(this.#stats, this.#identity, this.#instant(), this.#publication?.snapshot);
  }

  /** Sets the timer for the next multiple of the interval; multiples that have passed are skipped. */
  #arm(): void {
    if (this.#stopped) return;
    const nowUs = this.#io.clock.nowUs();
    const beatUs = this.#nextUs + this.#intervalUs;
    this.#nextUs = beatUs > nowUs ? beatUs : nowUs + this.#intervalUs;
    this.#timer = this.#io.clock.after(this.#nextUs - nowUs, () => {
      // Armed first: `spawn` reports a failed publication, and the next one still takes place.
      this.#arm();
      this.#io.spawn('stats.publish', async () => this.#publish());
    });
  }

  #publish(): void {
    this.#sequence += 1;
    this.#publication = new Publication(this.take(), this.#exposition);
    this.#turn();
  }

  #instant(): { sequence: number; uptimeSeconds: number; timestampSeconds: number; residentBytes: number } {
    const { clock } = this.#io;
    return {
      sequence: this.#sequence,
      uptimeSeconds: Math.floor((clock.nowUs() - this.#startedUs) / 1_000_000),
      timestampSeconds: Math.floor(clock.wallMs() / 1000),
      residentBytes: this.#io.residentBytes(),
    };
  }

  #turn(): void {
    const nowUs = this.#io.clock.nowUs();
    if (nowUs - this.#turnedUs < histogramTurnUs) return;
    this.#turnedUs = nowUs;
    this.#stats.turnHistograms();
  }
}
