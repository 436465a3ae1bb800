/** The bytes of the modules of work-texts.ts, as wabt makes them (a test holds them to their texts), by file name. */
import { versionCount } from './work-texts.ts';

/** Routes the keys of the type `routed`. */
export const routesId = 'routes';
export const marksId = 'marks';
export const waywardId = 'wayward';
export const routesFile = 'routes.wasm';
export const marksFile = 'marks-1.wasm';
export const waywardFile = 'wayward.wasm';

const routes = Buffer.from(
  'AGFzbQEAAAABDgJgAX8Bf2AEf39/fwF/AwMCAAEFAwEAAQYHAX8BQYAgCwcoAwZtZW1vcnkCAAxrZXlmdW5fYWxsb2MAAAxr' +
    'ZXlmdW5fcm91dGUAAQqqAQILACMAIwAgAGokAAubAQEDf0EQKAIAIQRBECAEQQFqNgIAIABBCGogACgCAGohBSAFLQAAIQYg' +
    'BkH0AEYEQAALIAZB7ABGBEADQAwACwsgBkHnAEYEQEHg1ANAAEEASARAAAsLIAZB8ABGBEAgAkFwNgIAIANBIDYCAEEADwsg' +
    'BUEBayAEOgAAIAIgBUEBazYCACADIAAgAWogBWtBAWo2AgAgBkHyAEYL',
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

/** The phase whose values are `version`, 1 to `versionCount`. */
export function marksBytes(version: number): Uint8Array {
  return marks[(version - 1) % versionCount] ?? routes;
}

export const workFiles: ReadonlyMap<string, Uint8Array> = new Map<string, Uint8Array>([
  [routesFile, routes],
  [marksFile, marksBytes(1)],
  [waywardFile, wayward],
]);

/** Where `routes` sends a key that asks for no trouble, on a fresh instance. */
export function routeBytesOf(key: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.of(0), key]);
}
