/**
 * Notes when this machine is too busy for a run in real time: the clients' process, which does little, is late for its own
 * timers. What happens then tells about the machine, not about Lockstep; it counts as disturbed.
 */

const everyMs = 50;
/** So late a timer is no chance of the scheduler any more. */
const lateMs = 200;
/** The nodes' processes are still late for a while. */
const afterUs = 3_000_000;

/** A span of time, in microseconds. */
export type Span = readonly [fromUs: number, toUs: number];

/** Watches from its making until `stop`. */
export class Stalls {
  readonly spans: Span[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(nowUs: () => number) {
    let lastUs = nowUs();
    this.#timer = setInterval(() => {
      const atUs = nowUs();
      if (atUs - lastUs > (everyMs + lateMs) * 1000) this.#note(lastUs, atUs + afterUs);
      lastUs = atUs;
    }, everyMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #note(fromUs: number, toUs: number): void {
    const last = this.spans.at(-1);
    if (last === undefined || last[1] < fromUs) this.spans.push([fromUs, toUs]);
    else this.spans[this.spans.length - 1] = [last[0], Math.max(last[1], toUs)];
  }
}
