/**
 * Computes the token of an object's key by its bucket's `chash_keyfun`. This is the only place that computes one: what
 * is sent, forwarded, prepared, hinted or stored carries this token. Anti-entropy and range transfers use the tokens in
 * the store.
 */
import { LockstepError } from '../base/errors.ts';
import type { ByteString, Token } from '../base/ids.ts';
import { textOf } from '../base/ids.ts';
import type { ObjectKey } from '../base/object-key.ts';
import { routeToken, tokenOf } from '../cluster/ring/token.ts';
import { Epochs } from './epochs.ts';
import type { BucketProperties } from './properties.ts';

/**
 * Asks the Wasm module `moduleId` for the route bytes of a key. The result is the same on every node for the same
 * module, bucket and key. Throws `KeyfunUnavailable` if the module is not registered here, and `WasmTrap`,
 * `WasmOutOfFuel` or `WasmMemoryLimit` if it fails.
 */
export type CustomRoute = (moduleId: string, bucket: ByteString, key: ByteString) => Uint8Array;

/** The route function of a node without Wasm modules: always throws `KeyfunUnavailable`. */
export const noCustomRoute: CustomRoute = (moduleId, bucket) => {
  const named =
    moduleId === '' ? 'its wasm_keyfun names no module' : `the module ${moduleId} is not registered`;
  throw new LockstepError(
    'KeyfunUnavailable',
    `the bucket ${textOf(bucket)} routes by chash_keyfun CUSTOM, and ${named}`,
  );
};

/** Maps object keys to tokens, which are the same in all epochs of a bucket. */
export class Router {
  /** The epochs of the buckets: a request gives its keys the present ones before it goes to the replicas. */
  readonly epochs: Epochs;
  readonly #propertiesOf: (type: ByteString, bucket: ByteString) => BucketProperties;
  readonly #customRoute: CustomRoute;

  constructor(
    propertiesOf: (type: ByteString, bucket: ByteString) => BucketProperties,
    customRoute: CustomRoute = noCustomRoute,
    epochs: Epochs = new Epochs(),
  ) {
    this.epochs = epochs;
    this.#propertiesOf = propertiesOf;
    this.#customRoute = customRoute;
  }

  /**
   * The key's token under the bucket's present properties. Throws `KeyfunUnavailable`, `WasmTrap`, `WasmOutOfFuel`,
   * `WasmMemoryLimit`.
   */
  tokenOf({ type, bucket, key }: ObjectKey): Token {
    const { chashKeyfun, wasmKeyfun } = this.#propertiesOf(type, bucket);
    return chashKeyfun === 'CUSTOM'
      ? tokenOf(this.#customRoute(wasmKeyfun, bucket, key))
      : routeToken(chashKeyfun, bucket, key);
  }
}
