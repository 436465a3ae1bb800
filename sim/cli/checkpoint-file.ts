/** The file of a campaign's checkpoint (sim/runner/checkpoint.ts) in its directory, written while seeds run. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { LockstepError } from '../../engine/base/errors.ts';
import { version } from '../../engine/base/version.ts';
import type { CampaignIdentity, Checkpoint, Shard } from '../runner/checkpoint.ts';
import { parseCheckpoint } from '../runner/checkpoint.ts';
import { bundleFile, workerFileOf } from '../runner/pool/build.ts';

/** The file's name. */
export const checkpointName = 'checkpoint.json';

/** Real time between two writes, in milliseconds: what a process that ends without notice has to run again. */
const writeEveryMs = 10_000;
/** A checkpoint of a campaign with thousands of different failures is smaller. */
const fileBytesMax = 256 * 1024 * 1024;

/**
 * Writes the checkpoint every ten seconds; the file is always a whole one. A write that fails is reported, and the next
 * one is tried all the same: a full disk must not cost a campaign of hours its summary.
 */
export class CheckpointFile {
  readonly #directory: string;
  readonly #make: () => Checkpoint;
  readonly #tell: (note: string) => void;
  #lastMs = performance.now();
  /** The write under way. */
  #writing: Promise<void> | undefined;

  /** `tell` gets a sentence about each write that failed. */
  constructor(directory: string, make: () => Checkpoint, tell: (note: string) => void) {
    this.#directory = directory;
    this.#make = make;
    this.#tell = tell;
  }

  /** Something has changed. Writes the file if the last one is old. */
  changed(): void {
    if (this.#writing !== undefined || performance.now() - this.#lastMs < writeEveryMs) return;
    this.#lastMs = performance.now();
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Writes the last state. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#write();
  }

  async #write(): Promise<void> {
    const file = join(this.#directory, checkpointName);
    try {
      await mkdir(this.#directory, { recursive: true });
      await writeFile(`${file}.new`, `${JSON.stringify(this.#make())}\n`, { flush: true });
      await rename(`${file}.new`, file);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#tell(`${file} is not written, so --resume and merge lack what ran since: ${why}`);
    }
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

/**
 * What a campaign is. `build`: the directory of the build that the command belongs to. `engine`: that of the build that
 * its threads run; a mutant's or a patch's has a name that tells it from others, and no bundle of its own.
 */
export async function identityOf(
  build: string,
  engine: string,
  run: {
    readonly firstSeed: number;
    readonly shard: Shard;
    readonly mutant: string | undefined;
    readonly ownFile: string | undefined;
  },
): Promise<CampaignIdentity> {
  const bundle = join(build, bundleFile);
  const worker = await readFile(existsSync(bundle) ? bundle : fileURLToPath(workerFileOf(build)));
  const { firstSeed, shard, mutant, ownFile } = run;
  return {
    version,
    build: createHash('sha256').update(worker).digest('hex'),
    ...{ firstSeed, shard },
    ...(mutant === undefined ? {} : { mutant: basename(engine) }),
    ...(ownFile === undefined ? {} : { ownFile }),
  };
}
