/**
 * Determines whose directory it is: reads the manifest at a start, makes it for a new store, and refuses another
 * node's.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Disk } from '../../io/disk.ts';
import { readFile, replaceFile } from '../../io/disk.ts';
import type { StoreIo } from '../store-io.ts';
import { manifestName, numberOfName } from '../log/file-names.ts';
import { decodeManifest, encodeManifest, manifestBytesMax } from '../log/manifest.ts';
import type { Manifest, ManifestReading } from '../log/manifest.ts';
import { youngerThan } from './unlisted-segments.ts';

/**
 * The manifest; undefined if the directory holds no store. A manifest that is not whole is read again before it is
 * judged. Throws `Corrupted` or `FormatUnsupported`.
 */
export async function readManifest(disk: Disk, directory: string): Promise<ManifestReading | undefined> {
  const path = `${directory}/${manifestName}`;
  const bytes = await readFile(disk, path, manifestBytesMax);
  if (bytes !== undefined && isWhole(bytes)) return decodeManifest(bytes);
  const again = await readFile(disk, path, manifestBytesMax);
  if (again !== undefined) return decodeOrAdvise(again, directory);
  const names = await disk.list(directory);
  const segment = names.find((name) => name.endsWith('.log') && numberOfName(name) !== undefined);
  if (segment === undefined) return undefined;
  throw new LockstepError(
    'Corrupted',
    `${directory} holds ${segment} but no manifest: it was lost or removed; ${waysOut}`,
  );
}

/** What the operator can do when a start is refused; ends an error text. */
export const waysOut =
  'move the directory away and start empty, and the other replicas give the node its data again; ' +
  'or, when there are no others, make the manifest again with `lockstep store rebuild DIR --node NAME`';

function decodeOrAdvise(bytes: Buffer, directory: string): ManifestReading {
  try {
    return decodeManifest(bytes);
  } catch (error) {
    if (!(error instanceof LockstepError) || error.code !== 'Corrupted') throw error;
    throw new LockstepError('Corrupted', `${directory}: ${error.message}; ${waysOut}`, { cause: error });
  }
}

/**
 * Whether a manifest file is there. Throws `BadRequest` if it can be read and is not older than the segments, and
 * `FormatUnsupported` if it is of another format.
 */
export async function mustBeLost(disk: Disk, directory: string): Promise<boolean> {
  const path = `${directory}/${manifestName}`;
  let there = false;
  for (let attempt = 0; attempt < 2; attempt++) {
    const bytes = await readFile(disk, path, manifestBytesMax);
    there ||= bytes !== undefined;
    if (bytes === undefined || !isReadable(bytes)) continue;
    if ((await youngerThan(decodeManifest(bytes).manifest, disk, directory)).length === 0)
      throw new LockstepError('BadRequest', `${path} is sound: there is nothing to rebuild`);
  }
  return there;
}

function isReadable(bytes: Buffer): boolean {
  try {
    decodeManifest(bytes);
    return true;
  } catch (error) {
    if (!(error instanceof LockstepError) || error.code !== 'Corrupted') throw error;
    return false;
  }
}

function isWhole(bytes: Buffer): boolean {
  try {
    return decodeManifest(bytes).whole;
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    return false;
  }
}

/** Makes a new store's manifest, durable when this resolves. */
export async function createStore(io: StoreIo, directory: string, nodeName: string): Promise<Manifest> {
  const storeId = io.random.fork(`store/${directory}`).bytes(16);
  const manifest: Manifest = { storeId, nodeName, createdMs: io.clock.wallMs(), nextNumber: 1, segments: [] };
  await replaceFile(io.disk, `${directory}/${manifestName}`, encodeManifest(manifest));
  return manifest;
}

/** Throws `StoreForeign` if another node made the store. */
export function refuseForeign(manifest: Manifest, nodeName: string, directory: string): void {
  if (manifest.nodeName === nodeName) return;
  throw new LockstepError(
    'StoreForeign',
    `${directory} belongs to the node ${manifest.nodeName}, and this is ${nodeName}: is another node's disk mounted?`,
  );
}
