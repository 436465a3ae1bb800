/**
 * Reads several streams of pages concurrently and yields them one after another: all pages of the first stream, then
 * those of the second. Each started stream holds at most one page in advance, so memory is bounded.
 */
import { present } from '../../base/assert.ts';

/** One stream, with its next page under way. */
class Lane<T> {
  readonly #pages: AsyncGenerator<T, void, undefined>;
  #next: Promise<IteratorResult<T, void>> | undefined;

  constructor(pages: AsyncGenerator<T, void, undefined>) {
    this.#pages = pages;
  }

  start(): void {
    if (this.#next !== undefined) return;
    this.#next = this.#pages.next();
    // `take` reports a failure when it is this lane's turn; after an early end of the listing nothing does.
    this.#next.catch(() => undefined);
  }

  /** The next page; when this resolves, the page after it is under way. */
  async take(): Promise<IteratorResult<T, void>> {
    this.start();
    const result = await present(this.#next, 'a page under way');
    this.#next = undefined;
    if (result.done !== true) this.start();
    return result;
  }

  /** Ends the stream once the page under way has arrived. */
  async stop(): Promise<void> {
    await this.#next?.catch(() => undefined);
    await this.#pages.return();
  }
}

/** The pages of all streams in the streams' order, with at most `abreast` streams under way. */
export async function* inOrder<T>(
  streams: readonly AsyncGenerator<T, void, undefined>[],
  abreast: number,
): AsyncGenerator<T, void, undefined> {
  const lanes = streams.map((pages) => new Lane(pages));
  try {
    for (const [index, lane] of lanes.entries()) {
      for (const ahead of lanes.slice(index, index + abreast)) ahead.start();
      for (let page = await lane.take(); page.done !== true; page = await lane.take()) yield page.value;
    }
  } finally {
    // Not awaited: a page under way may take until its deadline, and it is no longer needed.
    for (const lane of lanes) lane.stop().catch(() => undefined);
  }
}
