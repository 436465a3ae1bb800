/** The store as a module that scans all of it sees it: the keys of clients, without the engine's own records. */
import type { Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';

/** Access to all client keys of this node's store. `tokenOf` is undefined for an absent key. */
export interface ClientKeys {
  readonly keys: () => Iterable<PackedKey>;
  readonly tokenOf: (key: PackedKey) => Token | undefined;
  /** The stored bytes of a key. May throw, or reject with, a `LockstepError`. */
  readonly bytesOf: (key: PackedKey) => Uint8Array | undefined | Promise<Uint8Array | undefined>;
}
