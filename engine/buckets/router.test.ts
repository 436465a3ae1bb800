import { expect, test } from 'vitest';

import { LockstepError } from '../base/errors.ts';
import { byteStringOf } from '../base/ids.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import { tokenOf } from '../cluster/ring/token.ts';
import type { BucketProperties } from './properties.ts';
import { defaultProperties } from './properties.ts';
import type { CustomRoute } from './router.ts';
import { Router } from './router.ts';

const key = objectKey(defaultType, byteStringOf('users'), byteStringOf('ann/7'));

function routerOf(properties: Partial<BucketProperties>, route?: CustomRoute): Router {
  return new Router(() => ({ ...defaultProperties, ...properties }), route);
}

function codeOf(act: () => unknown): string {
  try {
    act();
    return 'nothing was thrown';
  } catch (error) {
    return error instanceof LockstepError ? `${error.code}: ${error.message}` : String(error);
  }
}

test('STD routes by bucket and key, BUCKETONLY by the bucket', () => {
  expect(routerOf({}).tokenOf(key)).toBe(tokenOf(Buffer.from('users/ann/7')));
  expect(routerOf({ chashKeyfun: 'BUCKETONLY' }).tokenOf(key)).toBe(tokenOf(Buffer.from('users')));
});

test('CUSTOM hashes the route bytes of the bucket’s module', () => {
  const owner: CustomRoute = (moduleId, bucket, name) =>
    Buffer.from(`${moduleId}:${bucket}:${name.split('/')[0] ?? ''}`);
  const router = routerOf({ chashKeyfun: 'CUSTOM', wasmKeyfun: 'owner' }, owner);
  expect(router.tokenOf(key)).toBe(tokenOf(Buffer.from('owner:users:ann')));
});

test('a CUSTOM bucket without a module is an error that names the bucket', () => {
  expect(codeOf(() => routerOf({ chashKeyfun: 'CUSTOM' }).tokenOf(key))).toBe(
    'KeyfunUnavailable: the bucket users routes by chash_keyfun CUSTOM, and its wasm_keyfun names no module',
  );
  expect(codeOf(() => routerOf({ chashKeyfun: 'CUSTOM', wasmKeyfun: 'owner' }).tokenOf(key))).toBe(
    'KeyfunUnavailable: the bucket users routes by chash_keyfun CUSTOM, and the module owner is not registered',
  );
});
