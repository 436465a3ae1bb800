/** The file of a campaign's checkpoint (sim/runner/checkpoint.ts) in its directory, written while seeds run. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { LockstepError } from '../../engine/base/errors.ts';
import { version } from '../../engine/base/version.ts';
import type { CampaignIdentity, Checkpoint, Shard } from '../runner/checkpoint.ts';
import { parseCheckpoint } from '../runner/checkpoint.ts';
import { workerFileOf } from '../runner/pool/build.ts';

/** The file's name. */
export const checkpointName = 'checkpoint.json';

/** Real time between two writes, in milliseconds: what a process that ends without notice has to run again. */
const writeEveryMs = 10_000;
/** A checkpoint of a campaign with thousands of different failures is smaller. */
const fileBytesMax = 256 * 1024 * 1024;

/** Writes the checkpoint every ten seconds; the file is always a whole one. */
export class CheckpointFile {
  readonly #directory: string;
  readonly #make: () => Checkpoint;
  #lastMs = performance.now();
  #writing: Promise<void> = Promise.resolve();
  /** Writes that wait or are under way. */
  #pending = 0;

  constructor(directory: string, make: () => Checkpoint) {
    this.#directory = directory;
    this.#make = make;
  }

  /** Something has changed. Writes the file if the last one is old. An error is thrown by `close`. */
  changed(): void {
    if (this.#pending > 0 || performance.now() - this.#lastMs < writeEveryMs) return;
    this.#lastMs = performance.now();
    this.#begin();
  }

  /** Writes the last state. Throws what a write failed with. */
  async close(): Promise<void> {
    this.#begin();
    await this.#writing;
  }

  #begin(): void {
    this.#pending += 1;
    this.#writing = this.#writing.then(async () => this.#write());
    // `close` throws it; until then it must not count as an error that nothing handles.
    this.#writing.catch(() => undefined);
  }

  async #write(): Promise<void> {
    const file = join(this.#directory, checkpointName);
    await mkdir(this.#directory, { recursive: true });
    await writeFile(`${file}.new`, `${JSON.stringify(this.#make())}\n`, { flush: true });
    await rename(`${file}.new`, file);
    this.#pending -= 1;
  }
}

/** The checkpoint in the directory; undefined if there is none. Throws `BadRequest` for a file that is none. */
export async function readCheckpoint(directory: string): Promise<Checkpoint | undefined> {
  const file = join(directory, checkpointName);
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return undefined;
  try {
    if (found.size > fileBytesMax)
      throw new LockstepError(
        'BadRequest',
        `it has ${found.size} bytes; at most ${fileBytesMax} are allowed`,
      );
    return parseCheckpoint(await readFile(file, 'utf8'));
  } catch (error) {
    const detail = `${file} cannot be used: ${error instanceof Error ? error.message : String(error)}`;
    throw new LockstepError('BadRequest', detail, { cause: error });
  }
}

/** What a campaign of this build is. `build`: the directory of the build that its threads run. */
export async function identityOf(
  build: string,
  run: {
    readonly firstSeed: number;
    readonly shard: Shard;
    readonly mutant: string | undefined;
    readonly ownFile: string | undefined;
  },
): Promise<CampaignIdentity> {
  const worker = await readFile(fileURLToPath(workerFileOf(build)));
  const { firstSeed, shard, mutant, ownFile } = run;
  return {
    version,
    build: createHash('sha256').update(worker).digest('hex'),
    ...{ firstSeed, shard },
    ...(mutant === undefined ? {} : { mutant }),
    ...(ownFile === undefined ? {} : { ownFile }),
  };
}
