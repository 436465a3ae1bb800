/**
 * The compiled bytes of the modules of `work-texts.ts`, by file name. A test compares them with what wabt makes of the
 * texts.
 */
import { versionCount } from './work-texts.ts';

/** Id of the module that routes the keys of the type `routed`. */
export const routesId = 'routes';
/** Id of the phase module of which there are several versions. */
export const marksId = 'marks';
/** Id of the phase module that fails as its argument demands. */
export const waywardId = 'wayward';
/** File of the module `routes`. */
export const routesFile = 'routes.wasm';
/** File of version 1 of the module `marks`. */
export const marksFile = 'marks-1.wasm';
/** File of the module `wayward`. */
export const waywardFile = 'wayward.wasm';

const routes = Buffer.from(
  'AGFzbQEAAAABDgJgAX8Bf2AEf39/fwF/AwMCAAEFAwEAAQYHAX8BQYAgCwcoAwZtZW1vcnkCAAxrZXlmdW5fYWxsb2MAAAxr' +
    'ZXlmdW5fcm91dGUAAQq2AQILACMAIwAgAGokAAunAQEEf0EQKAIAIQRBECAEQQFqNgIAIABBCGogACgCAGohBSAFLQAAIQYg' +
    'BkH0AEYEQAALIAZB7ABGBEADQAwACwsgBkHnAEYEQEHg1ANAAEEASARAAAsLIAZB8ABGBEAgAkFwNgIAIANBIDYCAEEADwsg' +
    'BUEBayAEOgAAIAIgBUEBazYCACAAIAFqIAVrQQFqIQcgA0EDIAcgB0EDSxs2AgAgBkHyAEYL',
  'base64',
);

const wayward = Buffer.from(
  'AGFzbQEAAAABDgJgAX8Bf2AEf39/fwF/AwMCAAEFAwEAAQYHAX8BQYAgCwcmAwZtZW1vcnkCAAtwaGFzZV9hbGxvYwAAC3BoYXNl' +
    'X2FwcGx5AAEKqgECCwAjACMAIABqJAALmwEBAn8gAEECQQEgAC0AAEGYAUYbaiEEIAQvAQBBoccBRiAELQAFQeEARnEEQCAELQAG' +
    'IQULIAVB9ABGBEAACyAFQewARgRAA0AMAAsLIAVB5wBGBEBB4NQDQABBAEgEQAALCyAFQfAARgRAIAJBcDYCACADQSA2AgBBAA8L' +
    'QYAQQYABOgAAIAJBgBA2AgAgA0EBNgIAIAVB8gBGCw==',
  'base64',
);

/** Versions 1, 2, … */
const marks: readonly Buffer[] = [
  Buffer.from(
    'AGFzbQEAAAABDgJgAX8Bf2AEf39/fwF/AwMCAAEFAwEAAQYHAX8BQYAgCwcmAwZtZW1vcnkCAAtwaGFzZV9hbGxvYwAAC3Bo' +
      'YXNlX2FwcGx5AAEKgAECCwAjACMAIABqJAALcgECfyAALQAAIQUgAC0AASAFQR9xIAVBmAFGGyEEQYAQQZgBOgAAQYEQIAQ6' +
      'AABBghBBASAE/AsAIAJBgBBBgRAgBEEXSxs2AgAgAyAEQQJBASAEQRdLG2o2AgAgBEEXTQRAQYEQQYABIARyOgAAC0EACw==',
    'base64',
  ),
  Buffer.from(
    'AGFzbQEAAAABDgJgAX8Bf2AEf39/fwF/AwMCAAEFAwEAAQYHAX8BQYAgCwcmAwZtZW1vcnkCAAtwaGFzZV9hbGxvYwAAC3Bo' +
      'YXNlX2FwcGx5AAEKgAECCwAjACMAIABqJAALcgECfyAALQAAIQUgAC0AASAFQR9xIAVBmAFGGyEEQYAQQZgBOgAAQYEQIAQ6' +
      'AABBghBBAiAE/AsAIAJBgBBBgRAgBEEXSxs2AgAgAyAEQQJBASAEQRdLG2o2AgAgBEEXTQRAQYEQQYABIARyOgAAC0EACw==',
    'base64',
  ),
  Buffer.from(
    'AGFzbQEAAAABDgJgAX8Bf2AEf39/fwF/AwMCAAEFAwEAAQYHAX8BQYAgCwcmAwZtZW1vcnkCAAtwaGFzZV9hbGxvYwAAC3Bo' +
      'YXNlX2FwcGx5AAEKgAECCwAjACMAIABqJAALcgECfyAALQAAIQUgAC0AASAFQR9xIAVBmAFGGyEEQYAQQZgBOgAAQYEQIAQ6' +
      'AABBghBBAyAE/AsAIAJBgBBBgRAgBEEXSxs2AgAgAyAEQQJBASAEQRdLG2o2AgAgBEEXTQRAQYEQQYABIARyOgAAC0EACw==',
    'base64',
  ),
];

/** The module `marks` of `version`, 1 to `versionCount`. */
export function marksBytes(version: number): Uint8Array {
  return marks[(version - 1) % versionCount] ?? routes;
}

/** The files that a cluster with modules is configured with, by name. */
export const workFiles: ReadonlyMap<string, Uint8Array> = new Map<string, Uint8Array>([
  [routesFile, routes],
  [marksFile, marksBytes(1)],
  [waywardFile, wayward],
]);

/**
 * Where a fresh instance of `routes` sends a key that demands no failure: by its first two bytes, so that keys from the
 * tenth on share their tokens with others, as the keys of a customer do who wants them together.
 */
export function routeBytesOf(key: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.of(0), key.subarray(0, 2)]);
}
