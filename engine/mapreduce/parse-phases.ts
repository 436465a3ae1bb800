/**
 * Parses the `query` of a job: its phases in all their spellings (Riak's, and those of the Rust port's code and
 * documentation).
 */
import { builtinMaps } from './builtin-maps.ts';
import { builtinReduces } from './builtin-reduces.ts';
import type { JsonObject } from './fields.ts';
import { checkFields, describe, flagField, isArray, isObject, nameOf, refuse, textField } from './fields.ts';
import type { FunctionPhase, JobLimits, Json, LinkPhase, Phase, PhaseFunction } from './job.ts';

const wasmNames = ['wasm_module', 'wasmmodule'];
const phaseNames = ['map', 'reduce', 'link', ...wasmNames];
const commonFields = ['arg', 'keep'];
const moduleIdCharsMax = 256;
const wasmHint = 'register a Wasm module and name it: {"language":"wasm","module":"id"}';

/** Parses `query`. Throws `BadRequest` with the phase's index (from 0) and its rule. */
export function parsePhases(query: Json, { phaseCountMax }: JobLimits): readonly Phase[] {
  if (!isArray(query)) return refuse('query', `must be a list of phases, not ${describe(query)}`);
  if (query.length > phaseCountMax)
    return refuse('query', `${query.length} phases; at most ${phaseCountMax} are allowed`);
  return query.map((phase, index) => parsePhase(phase, `phase ${index}`, index === query.length - 1));
}

function parsePhase(value: Json, where: string, last: boolean): Phase {
  if (!isObject(value))
    return refuse(where, `must be an object such as {"map":{...}}, not ${describe(value)}`);
  const [entry, ...others] = Object.entries(value);
  if (entry === undefined || others.length > 0)
    return refuse(where, `must have one field, which is one of ${phaseNames.join(', ')}`);
  const [name, spec] = entry;
  if (!phaseNames.includes(name))
    return refuse(where, `${describe(name)} is not a kind of phase; there are ${phaseNames.join(', ')}`);
  if (!isObject(spec)) return refuse(where, `${name} must be an object, not ${describe(spec)}`);
  const asked = flagField(spec, 'keep', where);
  const keep = asked ?? last;
  if (name === 'link') return parseLink(spec, where, keep);
  if (wasmNames.includes(name)) return parseWasm(spec, where, keep);
  return parseFunction(name === 'map' ? 'map' : 'reduce', spec, where, keep);
}

function parseLink(spec: JsonObject, where: string, keep: boolean): LinkPhase {
  checkFields(spec, ['bucket', 'tag', 'keep'], where);
  const filter = (name: string): LinkPhase['tag'] => {
    const value = spec[name];
    return value === undefined || value === null || value === '_' ? undefined : nameOf(value, name, where);
  };
  return { kind: 'link', bucket: filter('bucket'), tag: filter('tag'), keep };
}

function parseWasm(spec: JsonObject, where: string, keep: boolean): FunctionPhase {
  checkFields(spec, ['id', 'module_id', 'module', 'kind', 'fn_name', ...commonFields], where);
  const ids = ['id', 'module_id', 'module'].filter((name) => spec[name] !== undefined);
  if (ids.length !== 1) refuse(where, 'a Wasm phase names its module once, as id, module_id or module');
  const kind = textField(spec, 'kind', where) ?? 'map';
  if (kind !== 'map' && kind !== 'reduce')
    return refuse(where, `kind must be map or reduce, not ${describe(kind)}`);
  const module = moduleOf(textField(spec, ids[0] ?? 'id', where), where);
  return { kind, run: { kind: 'wasm', module }, arg: spec['arg'], keep };
}

function parseFunction(
  kind: 'map' | 'reduce',
  spec: JsonObject,
  where: string,
  keep: boolean,
): FunctionPhase {
  const language = textField(spec, 'language', where);
  refuseSource(spec, where);
  const run = functionOf(language, spec, where);
  if (run.kind === 'builtin') checkBuiltin(kind, run.name, spec['arg'], where);
  return { kind, run, arg: spec['arg'], keep };
}

function functionOf(language: string | undefined, spec: JsonObject, where: string): PhaseFunction {
  switch (language) {
    case 'wasm': {
      checkFields(spec, ['language', 'module', 'id', 'module_id', 'fn_name', ...commonFields], where);
      const id = spec['module'] ?? spec['id'] ?? spec['module_id'];
      return { kind: 'wasm', module: moduleOf(typeof id === 'string' ? id : undefined, where) };
    }
    case 'erlang':
      return erlangFunction(spec, where);
    case 'javascript':
    case undefined: {
      checkFields(spec, ['language', 'name', 'fn_name', ...commonFields], where);
      const name = textField(spec, 'name', where) ?? textField(spec, 'fn_name', where);
      if (name === undefined) return refuse(where, `the function's name is missing; ${wasmHint}`);
      return { kind: 'builtin', name };
    }
    default:
      return refuse(where, `the language ${describe(language)} is not run here; ${wasmHint}`);
  }
}

function erlangFunction(spec: JsonObject, where: string): PhaseFunction {
  checkFields(spec, ['language', 'module', 'function', ...commonFields], where);
  const module = textField(spec, 'module', where);
  const name = textField(spec, 'function', where);
  if (module === undefined || name === undefined)
    return refuse(where, 'a phase in erlang names its module and its function');
  if (module !== 'riak_kv_mapreduce')
    return refuse(
      where,
      `of Erlang there are the functions of riak_kv_mapreduce, not ${describe(module)}; ${wasmHint}`,
    );
  return { kind: 'builtin', name };
}

/** Refuses source code in a request or in an object: the node never runs it. */
function refuseSource(spec: JsonObject, where: string): void {
  const stored = spec['bucket'] !== undefined || spec['key'] !== undefined;
  if (spec['source'] === undefined && !stored) return;
  refuse(where, `source code ${stored ? 'kept in an object' : 'in a request'} is not run; ${wasmHint}`);
}

function moduleOf(id: string | undefined, where: string): string {
  if (id === undefined || id === '') return refuse(where, "the Wasm module's id is missing");
  if (id.length > moduleIdCharsMax)
    return refuse(where, `the Wasm module's id has at most ${moduleIdCharsMax} characters`);
  return id;
}

function checkBuiltin(kind: 'map' | 'reduce', name: string, arg: Json | undefined, where: string): void {
  const known = kind === 'map' ? builtinMaps : builtinReduces;
  const builtin = known.get(name);
  if (builtin === undefined) {
    const names = [...known.keys()].join(', ');
    return refuse(
      where,
      `${describe(name)} is no built-in ${kind} function; there are ${names}; or ${wasmHint}`,
    );
  }
  const rule = builtin.argRule?.(arg);
  if (rule !== undefined) refuse(where, rule);
}
