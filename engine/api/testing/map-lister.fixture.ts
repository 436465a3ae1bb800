/** Listings of names that a test states, two names a page. */
import type { LockstepError } from '../../base/errors.ts';
import type { ByteString, NodeId, Token } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { ListedPage } from '../../mapreduce/listing/coverage.ts';
import type { NameLister } from '../name-lister.ts';

const pageCount = 2;

/** A `NameLister` over a map. */
export class MapLister implements NameLister {
  /** Keys by bucket. */
  readonly names = new Map<string, readonly string[]>();
  /** The error to throw, and after how many pages. */
  failure: { readonly error: LockstepError; readonly afterPages: number } | undefined;
  /** Pages yielded so far. */
  pages = 0;
  /** Listings that the reader ended early. */
  abandoned = 0;

  keys(_: ByteString, bucket: ByteString): AsyncGenerator<ListedPage, void, undefined> {
    return this.#pagesOf(this.names.get(bucket) ?? [], (names) => ({
      node: 'n1' as NodeId,
      names: names.map((name) => ({ name, token: 0 as Token })),
      reached: 0 as Token,
    }));
  }

  buckets(): AsyncGenerator<readonly ByteString[], void, undefined> {
    return this.#pagesOf([...this.names.keys()], (names) => names);
  }

  async *#pagesOf<T>(
    names: readonly string[],
    page: (names: readonly ByteString[]) => T,
  ): AsyncGenerator<T, void, undefined> {
    let whole = false;
    try {
      for (let at = 0; at < names.length || this.failure !== undefined; at += pageCount) {
        if (this.failure !== undefined && at >= this.failure.afterPages * pageCount) throw this.failure.error;
        this.pages += 1;
        yield page(names.slice(at, at + pageCount).map(byteStringOf));
      }
      whole = true;
    } finally {
      if (!whole) this.abandoned += 1;
    }
  }
}
