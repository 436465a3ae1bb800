/**
 * The scripts of one node: a bounded cache by hash, and runs. A run sees a working set of keys, and reaches nothing
 * else: no clock but the command's, no chance, no files. It is bounded in steps and memory, so an endless script ends
 * as an error. A run that fails leaves the working set as it was.
 *
 * A run that names a key which is not loaded ends with `MissingKeys`. The caller loads the keys and runs the script
 * again; up to there it does the same.
 */
import { createHash } from 'node:crypto';
import type { Log } from '../../../io/log.ts';
import type { Command } from '../commands.ts';
import { commands, hasArity, keysOf, looksAtValues } from '../commands.ts';
import { Refusal, shownText, texts } from '../refusals.ts';
import { arrayReply, bulkReply, errorReply, nilReply, pongReply, textReply } from '../replies.ts';
import { lcsCellsMax } from '../longest-common.ts';
import type { CommandContext, ScriptRequest, ScriptRunner } from '../value-commands.ts';
import type { WorkingSet } from '../working-set.ts';
import { MissingKeys } from '../working-set.ts';
import { baseFunctions, bitLibrary, mathLibrary, osLibrary, tableLibrary } from './base-library.ts';
import { compileScript } from './compiler.ts';
import { jsonLibrary } from './json-library.ts';
import { Operators } from './operators.ts';
import { packLibrary } from './pack-library.ts';
import type { ParsedScript } from './parse.ts';
import { CompileError, parseScript } from './parse.ts';
import { redisLibrary, replyOf } from './redis-library.ts';
import { ScriptCache } from './script-cache.ts';
import { stringLibrary } from './string-library.ts';
import type { LuaValue, ScriptBounds } from './values.ts';
import { LibraryError, LuaError, LuaTable, Meter, ScriptStopped, tableOf } from './values.ts';

/** The bounds of every run. Five million steps take a few tenths of a second. */
export const scriptBounds: ScriptBounds = { stepsMax: 5_000_000, bytesMax: 64 * 1024 * 1024, depthMax: 150 };

/** The most bytes of a script: parsing that many takes a few tenths of a second. */
const scriptBytesMax = 128 * 1024;

/** The scripts of one listener. */
export class Scripts implements ScriptRunner {
  readonly #log: Log;
  readonly #bounds: ScriptBounds;
  readonly #cache = new ScriptCache();

  constructor(log: Log, bounds = scriptBounds) {
    this.#log = log;
    this.#bounds = bounds;
  }

  load(text: Buffer): string {
    const hash = hashOf(text);
    if (this.#cache.use(hash) === undefined) this.#parse(hash, text);
    return hash;
  }

  has(hash: string): boolean {
    return this.#cache.has(hash.toLowerCase());
  }

  flush(): void {
    this.#cache.clear();
  }

  run(request: ScriptRequest, keys: WorkingSet, context: CommandContext): Buffer {
    const { script, isHash } = request;
    const hash = isHash ? script.toString('latin1').toLowerCase() : hashOf(script);
    const known = this.#cache.use(hash);
    if (known === undefined && isHash) throw new Refusal(texts.noScript);
    const parsed = known ?? this.#parse(hash, script);
    const restoreKeys = keys.save();
    const restoreNotes = context.notes?.save();
    try {
      return this.#execute(parsed, request, keys, context);
    } catch (error) {
      if (error instanceof MissingKeys) throw error;
      restoreKeys();
      restoreNotes?.();
      throw new Refusal(shownText(failureText(error, hash)));
    }
  }

  #parse(hash: string, text: Buffer): ParsedScript {
    if (text.length > scriptBytesMax) throw new Refusal(`ERR a script has at most ${scriptBytesMax} bytes`);
    try {
      const parsed = parseScript(text.toString('latin1'));
      this.#cache.add(hash, parsed);
      return parsed;
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      throw new Refusal(shownText(`ERR Error compiling script (new function): ${error.message}`));
    }
  }

  #execute(parsed: ParsedScript, request: ScriptRequest, keys: WorkingSet, context: CommandContext): Buffer {
    const meter = new Meter(this.#bounds);
    const operators = new Operators(meter);
    const call = (command: readonly Buffer[]): Buffer =>
      callCommand(command, request.isReadOnly, keys, context, meter);
    const log = (text: string): void => this.#log.event('info', 'redis.script.said', { text });
    const strings = stringLibrary(meter, operators);
    operators.strings = strings;
    const globals = new Map<string, LuaValue>([
      ...baseFunctions(meter, operators),
      ['string', strings],
      ['table', tableLibrary(meter, operators)],
      ['math', mathLibrary(meter)],
      ['os', osLibrary(meter)],
      ['bit', bitLibrary(meter)],
      ['cjson', jsonLibrary(meter)],
      ['cmsgpack', packLibrary(meter)],
      ['redis', redisLibrary(meter, call, log)],
      ['_VERSION', 'Lua 5.1'],
      ['KEYS', namesOf(meter, request.keys)],
      ['ARGV', namesOf(meter, request.arguments)],
    ]);
    const main = compileScript(parsed, { meter, operators, globals });
    const { answerBytesMax, version } = context;
    return replyOf(main.call([])[0], { meter, nil: nilReply(version), answerBytesMax });
  }
}

function hashOf(text: Buffer): string {
  return createHash('sha1').update(text).digest('hex');
}

function namesOf(meter: Meter, names: readonly Buffer[]): LuaTable {
  for (const name of names) meter.allocate(name.length);
  return tableOf(
    meter,
    names.map((name) => name.toString('latin1')),
  );
}

/** The reply of one command of a script, in RESP2. Throws `MissingKeys` if its keys are not loaded. */
function callCommand(
  request: readonly Buffer[],
  isReadOnly: boolean,
  keys: WorkingSet,
  context: CommandContext,
  meter: Meter,
): Buffer {
  const name = (request[0] ?? Buffer.alloc(0)).toString('latin1').toLowerCase();
  const command = commands.get(name);
  if (command === undefined) return errorReply('ERR Unknown Redis command called from script');
  if (!hasArity(command, request.length)) {
    return errorReply('ERR Wrong number of args calling Redis command from script');
  }
  if (name === 'ping') return request[1] === undefined ? pongReply : bulkReply(request[1]);
  if (name === 'echo') return bulkReply(request[1] ?? Buffer.alloc(0));
  if (name === 'time') return timeReply(context.nowMs);
  if (command.apply === undefined || command.places?.countAt !== undefined) {
    return errorReply('ERR This Redis command is not allowed from script');
  }
  if (isReadOnly && command.kind !== 'read') {
    return errorReply('ERR Write commands are not allowed from read-only scripts.');
  }
  if (request.some((one) => one.length > context.valueBytesMax)) return errorReply(texts.tooLong);
  // Another command of the step may have named the key without needing its value.
  const wantsValue = looksAtValues(command, request);
  const missing = [...keysOf(command, request)].filter((key) => !keys.has(key, wantsValue));
  if (missing.length > 0) throw new MissingKeys(missing);
  if (wantsValue) meter.step(stepsOf(command, request, keys));
  try {
    return command.apply(keys, request, { ...context, version: 2 });
  } catch (error) {
    if (error instanceof Refusal) return errorReply(error.message);
    throw error;
  }
}

/**
 * Commands that take the same time whatever the length of their keys' values: they hand on an entry as it is, or look at
 * one place. The bytes of a reply count when it becomes a value of the script.
 */
const lengthless: ReadonlySet<string> = new Set(
  'strlen getbit getrange substr object expire pexpire expireat pexpireat persist rename renamenx copy'.split(
    ' ',
  ),
);

/** The steps of a command that looks at the bytes of its keys' values. */
function stepsOf(command: Command, request: readonly Buffer[], keys: WorkingSet): number {
  if (lengthless.has(command.name)) return 0;
  const lengths = [...keysOf(command, request)].map((key) => keys.get(key)?.value.length ?? 0);
  const [left = 0, right = 0] = lengths;
  // The table of LCS has a cell for each pair of bytes.
  if (command.name === 'lcs') return Math.min(left * right, lcsCellsMax) >>> 4;
  return lengths.reduce((sum, length) => sum + (length >>> 6), 0);
}

function timeReply(ms: number): Buffer {
  return arrayReply([textReply(String(Math.floor(ms / 1000))), textReply(`${ms % 1000}000`)]);
}

/** The line of a run that failed. Throws what is no failure of the script. */
function failureText(error: unknown, hash: string): string {
  const where = ` script: ${hash}, on @user_script:`;
  if (error instanceof ScriptStopped) return `ERR ${error.message}${where}1.`;
  if (error instanceof RangeError) return `ERR the script nests too deeply${where}1.`;
  if (error instanceof CompileError) return `ERR Error compiling script (new function): ${error.message}`;
  const value = error instanceof LuaError ? error.value : undefined;
  if (value instanceof LuaTable) {
    const [text, line] = [value.get('err'), value.get('line')];
    if (typeof text === 'string') return `${text}${where}${typeof line === 'number' ? line : 1}.`;
    return `ERR an error that is a table${where}1.`;
  }
  if (!(error instanceof LuaError || error instanceof LibraryError)) throw error;
  const text = error.message;
  const line = /^user_script:(\d+):/.exec(text)?.[1] ?? '1';
  return `ERR ${text}${where}${line}.`;
}
