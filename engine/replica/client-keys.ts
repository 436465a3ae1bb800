/** The store as whoever looks through all of it needs it: the keys of clients, without the engine's own. */
import type { Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';

export interface ClientKeys {
  readonly keys: () => Iterable<PackedKey>;
  readonly tokenOf: (key: PackedKey) => Token | undefined;
  /** The durable bytes under a key. May throw or reject with a `LockstepError`. */
  readonly bytesOf: (key: PackedKey) => Uint8Array | undefined | Promise<Uint8Array | undefined>;
}
