/**
 * Reads a configuration file for the commands, with a bound on its size. Errors of the file system become readable
 * lines.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import type { NodeConfig } from '../../config/config.ts';
import { parseConfig } from '../../config/config.ts';
import { fileBytesMax } from '../../config/document.ts';
import { ConfigError } from '../../config/faults.ts';

/** The file's configuration with the overrides of the `LOCKSTEP_` variables. Throws `ConfigError`. */
export function readConfigFile(file: string, environment: NodeJS.ProcessEnv): NodeConfig {
  return parseConfig(readText(file), environment, file);
}

/** The node's data directory, absolute. `data_dir` is relative to the configuration file. */
export function dataDirectoryOf(file: string, config: NodeConfig): string {
  return resolve(dirname(file), config.dataDir);
}

function readText(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readBytes(file));
  } catch (error) {
    throw new ConfigError([{ source: file, key: '', problem: describe(error) }]);
  }
}

/** Reads at most one byte more than a configuration may have, which is enough to see that the file is too long. */
function readBytes(file: string): Buffer {
  const bytes = Buffer.alloc(fileBytesMax + 1);
  const handle = openSync(file, 'r');
  try {
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = readSync(handle, bytes, length, bytes.length - length, null);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(handle);
  }
}

function describe(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EISDIR':
      return 'it is a directory; a configuration file is wanted';
    case 'EACCES':
      return 'it may not be read (permission denied)';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'it is not UTF-8 text';
    default:
      return `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}
