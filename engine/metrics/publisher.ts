/**
 * Publishes the node's stats once per interval: takes one frozen snapshot and puts it in the place of the one before.
 * Both formats are renderings of the snapshot and of nothing else, so they agree whenever they are made: each is made
 * at the first request for it and shared by all readers. What nobody scrapes is not rendered, and a slow reader holds
 * at most the publication that it is reading.
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

/** One snapshot and its renderings, each made when it is first asked for and kept. */
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

/** What the publisher needs of the outside. */
export type PublisherIo = Pick<Io, 'clock' | 'spawn' | 'residentBytes'>;

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

  /** The uptime counts from here. */
  constructor(io: PublisherIo, stats: NodeStats, identity: StatsIdentity, intervalMs: number) {
    assert(intervalMs > 0, 'stats are published at an interval');
    this.#io = io;
    this.#stats = stats;
    this.#identity = identity;
    this.#intervalUs = intervalMs * 1000;
    this.#startedUs = io.clock.nowUs();
    this.#turnedUs = this.#startedUs;
  }

  /** Publishes for the first time; from then on there is always a `current`, renewed at every interval. */
  start(): void {
    this.#publish();
    this.#nextUs = this.#io.clock.nowUs();
    this.#arm();
  }

  /** No more publications; the last one stays. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** The latest publication. */
  get current(): Publication {
    return present(this.#publication, 'the first stats publication');
  }

  /** A snapshot of now that is published nowhere; it bears the number of the latest that was. */
  take(): StatsSnapshot {
    return takeSnapshot(this.#stats, this.#identity, this.#instant(), this.#publication?.snapshot);
  }

  /** The next beat of the interval; beats that were slept through are left out. */
  #arm(): void {
    if (this.#stopped) return;
    const nowUs = this.#io.clock.nowUs();
    const beatUs = this.#nextUs + this.#intervalUs;
    this.#nextUs = beatUs > nowUs ? beatUs : nowUs + this.#intervalUs;
    this.#timer = this.#io.clock.after(this.#nextUs - nowUs, () => {
      // Armed first: a publication that fails is heard of through spawn, and the next one still comes.
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
