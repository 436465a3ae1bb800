/**
 * Where a key lives, by its bucket's `chash_keyfun`: the one place in which tokens of objects are computed. What is
 * sent, forwarded, prepared, hinted or stored carries the token that this made; anti-entropy and transfers walk the
 * tokens that the store was given.
 */
import { LockstepError } from '../base/errors.ts';
import type { ByteString, Token } from '../base/ids.ts';
import { textOf } from '../base/ids.ts';
import type { ObjectKey } from '../base/object-key.ts';
import { routeToken, tokenOf } from '../cluster/ring/token.ts';
import type { BucketProperties } from './properties.ts';

/**
 * Asks the Wasm module `moduleId` for the route bytes of a key. Throws `KeyfunUnavailable` when no such module is
 * registered here, `WasmTrap`, `WasmOutOfFuel` or `WasmMemoryLimit` when it fails. The same on every node for the same
 * module, bucket and key.
 */
export type CustomRoute = (moduleId: string, bucket: ByteString, key: ByteString) => Uint8Array;

/** A node that has no Wasm modules. */
export const noCustomRoute: CustomRoute = (moduleId, bucket) => {
  const named =
    moduleId === '' ? 'its wasm_keyfun names no module' : `the module ${moduleId} is not registered`;
  throw new LockstepError(
    'KeyfunUnavailable',
    `the bucket ${textOf(bucket)} routes by chash_keyfun CUSTOM, and ${named}`,
  );
};

export class Router {
  readonly #propertiesOf: (type: ByteString, bucket: ByteString) => BucketProperties;
  readonly #customRoute: CustomRoute;

  constructor(
    propertiesOf: (type: ByteString, bucket: ByteString) => BucketProperties,
    customRoute: CustomRoute = noCustomRoute,
  ) {
    this.#propertiesOf = propertiesOf;
    this.#customRoute = customRoute;
  }

  /** The key's token now. Throws `KeyfunUnavailable`, `WasmTrap`, `WasmOutOfFuel`, `WasmMemoryLimit`. */
  tokenOf({ type, bucket, key }: ObjectKey): Token {
    const { chashKeyfun, wasmKeyfun } = this.#propertiesOf(type, bucket);
    return chashKeyfun === 'CUSTOM'
      ? tokenOf(this.#customRoute(wasmKeyfun, bucket, key))
      : routeToken(chashKeyfun, bucket, key);
  }
}
