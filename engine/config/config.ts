/**
 * Parses a node's configuration: one YAML file whose root key is the pool's name, with the keys of `keys.ts` below it.
 * A `LOCKSTEP_…` variable overrides each key. Pure: the command line reads the file and the environment.
 */
import { parseNodeId } from '../base/ids.ts';
import type { ConfigDocument } from './document.ts';
import { readDocument, readValue } from './document.ts';
import type { ConfigFault } from './faults.ts';
import { FaultList, unknownKey } from './faults.ts';
import type { ConfigField, ConfigFields } from './keys.ts';
import { environmentPrefix, keyOf, otherVariables, variableOf } from './config-key.ts';
import { configFields, configKeys } from './keys.ts';
import { nodeName, resolveTokens } from './members.ts';
import { spelledOut } from './aliases.ts';
import { checkAcrossFields } from './cross-field-checks.ts';
import { showGiven } from './values.ts';

/** A configuration that is valid as a whole. */
export interface NodeConfig extends ConfigFields {
  /** The file's root key: the label `pool` of all statistics. */
  readonly pool: string;
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The given value of one key, and its source. */
interface Given {
  readonly value: unknown;
  readonly source: string;
  readonly line?: number;
}

type GivenKeys = ReadonlyMap<ConfigField, Given>;

/**
 * The configuration given by a file and the environment together. `fileName` is for messages. Throws `ConfigError`
 * (`ConfigInvalid`) with every fault of both.
 */
export function parseConfig(yamlText: string, environment: Environment, fileName: string): NodeConfig {
  const faults = new FaultList();
  const document = readDocument(yamlText, fileName, faults);
  const given = new Map<ConfigField, Given>();
  if (document !== undefined) gatherFromFile(document, fileName, given, faults);
  gatherFromEnvironment(environment, given, faults);
  // If the file cannot be parsed, every key would seem to be missing: only the faults found so far are reported.
  if (document === undefined) throw faults.error();
  const fields = readFields(given, fileName, faults);
  if (fields === undefined) throw faults.error();
  return finish({ ...fields, pool: document.pool }, given, fileName);
}

/**
 * The defaults with `overrides`, for embedders and the simulator; the cross-field checks apply. Throws `ConfigError`.
 */
export function defaultConfig(
  pool: string,
  overrides: Partial<ConfigFields> & Pick<ConfigFields, 'name'>,
): NodeConfig {
  const faults = new FaultList();
  const given: GivenKeys = new Map([['name', { value: overrides.name, source: pool }]]);
  const fields = readFields(given, pool, faults);
  if (fields === undefined) throw faults.error();
  return finish({ ...fields, ...overrides, pool }, given, pool);
}

function gatherFromFile(
  document: ConfigDocument,
  source: string,
  given: Map<ConfigField, Given>,
  faults: FaultList,
): void {
  if (parseNodeId(document.pool) === undefined) {
    const problem = `the root key ${JSON.stringify(document.pool)} is the pool's name; allowed: ${nodeName.allowed}`;
    faults.add({ source, key: '', problem });
  }
  const known = configFields.map(keyOf);
  for (const { spelled, key, value, line } of spelledOut(document.entries, known)) {
    const field = configFields.find((candidate) => keyOf(candidate) === key);
    if (field === undefined) faults.add({ source, line, key: spelled, problem: unknownKey(known, key) });
    else if (given.has(field)) faults.add({ source, line, key: spelled, problem: `${key} is given twice` });
    else given.set(field, { value, source, line });
  }
}

/**
 * Variables override the file. An unknown `LOCKSTEP_…` is a fault too: a mistyped one would silently have no effect.
 */
function gatherFromEnvironment(
  environment: Environment,
  given: Map<ConfigField, Given>,
  faults: FaultList,
): void {
  for (const [name, words] of Object.entries(environment)) {
    if (!name.startsWith(environmentPrefix) || words === undefined || otherVariables.includes(name)) continue;
    const field = configFields.find((candidate) => variableOf(candidate) === name);
    const read = readValue(words);
    if (field === undefined) {
      faults.add({ source: name, key: '', problem: unknownKey(configFields.map(variableOf), name) });
    } else if (read === undefined) {
      faults.add({
        source: name,
        key: keyOf(field),
        problem: `${showGiven(words)} given, which is not valid YAML`,
      });
    } else {
      given.set(field, { value: read.value, source: name });
    }
  }
}

/** Reads every field, from its given value or its default. Undefined if `faults` is no longer empty. */
function readFields(given: GivenKeys, source: string, faults: FaultList): ConfigFields | undefined {
  const fields: Record<string, unknown> = {};
  for (const field of configFields) {
    const { kind, fallback } = configKeys[field];
    const from = given.get(field);
    if (from === undefined && fallback === undefined) {
      faults.add({ source, key: keyOf(field), problem: `must be given; allowed: ${kind.allowed}` });
      continue;
    }
    const read = kind.read(from === undefined ? fallback : from.value, '', (path, problem) =>
      faults.add(faultOf(field, from, source, problem, path)),
    );
    fields[field] = read?.value;
  }
  if (given.has('tokens') && given.has('numTokens')) {
    const problem = 'given together with tokens; allowed: one of them';
    faults.add(faultOf('numTokens', given.get('numTokens'), source, problem));
  }
  // The table has a row for every field, and each row's kind reads the field's type.
  return faults.empty ? (fields as object as ConfigFields) : undefined;
}

/** Derives values that depend on several keys, and checks the fields against each other. */
function finish(config: NodeConfig, given: GivenKeys, source: string): NodeConfig {
  const { name, numTokens, replace } = config;
  // A replacement takes the tokens of the node that it replaces, and never contacts that node.
  const replaced = config.seeds.find((seed) => seed.node === replace);
  const tokens = replaced?.tokens ?? config.tokens;
  const seeds = config.seeds.filter((seed) => seed !== replaced);
  const whole = { ...config, seeds, tokens: resolveTokens(name, tokens, numTokens) };
  const faults = new FaultList();
  for (const { field, problem } of checkAcrossFields(whole)) {
    faults.add(faultOf(field, given.get(field), source, problem));
  }
  if (!faults.empty) throw faults.error();
  return { ...whole, seeds: whole.seeds.filter((seed) => seed.node !== name) };
}

function faultOf(
  field: ConfigField,
  from: Given | undefined,
  source: string,
  problem: string,
  path = '',
): ConfigFault {
  const line = from?.line === undefined ? {} : { line: from.line };
  return { source: from?.source ?? source, ...line, key: keyOf(field) + path, problem };
}
