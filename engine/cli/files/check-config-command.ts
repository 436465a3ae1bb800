/** `lockstep check-config`: checks a configuration and the files that it names, and lists every configuration key. */
import { dirname, resolve } from 'node:path';

import type { Command } from 'commander';

import { LockstepError } from '../../base/errors.ts';
import type { NodeConfig } from '../../config/config.ts';
import { ConfigError } from '../../config/faults.ts';
import { keyOf } from '../../config/config-key.ts';
import { membersOf } from '../../config/cross-field-checks.ts';
import { describeKeys, keyReferences } from '../../config/reference.ts';
import { credentialsOf } from './credentials-file.ts';
import { readConfigFile } from './config-file.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodeOf, exitCodes, UsageError } from '../exit-codes.ts';
import { faultsAmong, readOpenFile } from './secret-files.ts';
import { tlsFaults } from './tls-files.ts';
import { painterFor } from '../terminal.ts';

interface CheckConfigOptions {
  readonly json?: boolean;
  readonly keys?: boolean;
}

/** Adds the command `check-config`. `finish` gets the exit code. */
export function addCheckConfigCommand(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('check-config')
    .argument('[file]', 'the configuration file')
    .option('--json', 'print one line of JSON')
    .option('--keys', 'list every key with its variable, default, allowed range and meaning')
    .description('check a configuration file, with the LOCKSTEP_ variables, without starting anything')
    .action((file: string | undefined, options: CheckConfigOptions) => {
      finish(checkConfig(file, options, process.env));
    });
}

function checkConfig(
  file: string | undefined,
  { json = false, keys = false }: CheckConfigOptions,
  environment: NodeJS.ProcessEnv,
): ExitCode {
  if (keys) console.log(json ? JSON.stringify(keyReferences()) : describeKeys());
  if (file !== undefined) return json ? checkAsJson(file, environment) : checkAsText(file, environment);
  if (!keys) throw new UsageError('check-config wants a FILE to check, or --keys');
  return exitCodes.done;
}

function checkAsText(file: string, environment: NodeJS.ProcessEnv): ExitCode {
  const config = readConfigFile(file, environment);
  readNamedFiles(file, config);
  const count = membersOf(config).length;
  const place = `pool ${config.pool}, node ${config.name} in ${config.datacenter}/${config.rack}`;
  const valid = painterFor(process.stdout).good('valid');
  console.log(`${file}: ${valid} (${place}, ${count} ${count === 1 ? 'node' : 'nodes'} in the cluster)`);
  return exitCodes.done;
}

function checkAsJson(file: string, environment: NodeJS.ProcessEnv): ExitCode {
  try {
    const config = readConfigFile(file, environment);
    readNamedFiles(file, config);
    console.log(JSON.stringify({ valid: true, config: plainConfig(config) }));
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof LockstepError) || error.code !== 'ConfigInvalid') throw error;
    const faults =
      error instanceof ConfigError ? error.faults : [{ source: file, key: '', problem: error.message }];
    console.log(JSON.stringify({ valid: false, faults }));
    return exitCodeOf(error);
  }
}

/** Reads every file that the configuration names. Throws `ConfigError` with all that cannot be read or used. */
function readNamedFiles(file: string, config: NodeConfig): void {
  const modules = config.featuresWasm ? config.storeWasmModules : [];
  const faults = [
    ...faultsAmong([() => credentialsOf(file, config)]),
    ...tlsFaults(file, config),
    ...faultsAmong(
      modules.map(({ id, path }) => () => {
        readOpenFile(resolve(dirname(file), path), config.wasmModuleBytesMax, `the Wasm module ${id}`);
      }),
    ),
  ];
  if (faults.length === 0) return;
  throw new ConfigError(faults.map(({ message }) => ({ source: file, key: '', problem: message })));
}

/**
 * The configuration under the key names of a file, as JSON can express it: maps become objects, and a listener that is
 * off is `off`. `pool` is included although it is not a key: it is the file's root.
 */
function plainConfig(config: NodeConfig): object {
  const off = { listen: 'off', pbListen: 'off', redisListen: 'off', statsListen: 'off' };
  const given = Object.entries(config).filter(([, value]) => value !== undefined);
  const bucketTypes = new Map([...config.bucketTypes].map(([name, own]) => [name, underKeys(own)]));
  const types: object = Object.fromEntries(bucketTypes);
  return underKeys({ ...off, ...Object.fromEntries(given), bucketTypes: types });
}

function underKeys(fields: object): object {
  const entries: readonly (readonly [string, unknown])[] = Object.entries(fields);
  return Object.fromEntries(entries.map(([field, value]) => [keyOf(field), value]));
}
