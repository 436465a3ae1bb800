/**
 * Several streams of pages read side by side and given one after the other: page by page of the first stream, then of
 * the second. Each of the streams that have been started holds one page in advance at most, so what waits is bounded.
 */
import { present } from '../../base/assert.ts';

/** One stream with its next page under way. */
class Lane<T> {
  readonly #pages: AsyncGenerator<T, void, undefined>;
  #next: Promise<IteratorResult<T, void>> | undefined;

  constructor(pages: AsyncGenerator<T, void, undefined>) {
    this.#pages = pages;
  }

  start(): void {
    if (this.#next !== undefined) return;
    this.#next = this.#pages.next();
    // A failure is heard of when it is this lane's turn, or by nobody when the listing ends before.
    this.#next.catch(() => undefined);
  }

  /** The next page; the one after it is under way when this resolves. */
  async take(): Promise<IteratorResult<T, void>> {
    this.start();
    const result = await present(this.#next, 'a page under way');
    this.#next = undefined;
    if (result.done !== true) this.start();
    return result;
  }

  /** Ends the stream, once the page that is under way has come. */
  async stop(): Promise<void> {
    await this.#next?.catch(() => undefined);
    await this.#pages.return();
  }
}

/** The pages of all streams in the streams' order, at most `abreast` streams under way. */
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
    // Not waited for: a page under way may take as long as its deadline, and nobody wants it.
    for (const lane of lanes) lane.stop().catch(() => undefined);
  }
}
