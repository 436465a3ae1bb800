/**
 * The commands that a Redis client sends as one pipeline: reads and writes of every kind over a few hot keys (`h<n>`)
 * and several cold ones (`d<n>`), some between MULTI and EXEC; or plain SETs, an MGET and GETs of new keys (`s<n>`).
 * Plain data and pure functions of an operation's id and its amount, so that a plan need not hold the commands.
 *
 * Every value is a number that names the write and its key: `valuesFrom`, plus that write's number times `valueSpacing`,
 * plus the increments since. All of them begin with the same digits and have as many, so that a disk can be searched for
 * them.
 */

/** One command of a pipeline. */
export interface PipelineCommand {
  readonly kind: PipelineKind;
  /** The words as the client sends them. */
  readonly words: readonly string[];
  /** Distinct keys, in the order of the reply's parts. */
  readonly keys: readonly string[];
  /** The values that it stores, one for each key; empty if it stores none that is known beforehand. */
  readonly values: readonly number[];
  /** It stands between MULTI and EXEC. */
  readonly queued: boolean;
}

/** What a command does. */
export type PipelineKind = (typeof drawnKinds)[number] | 'multi' | 'exec';

/** Kinds that read or write keys, each as often as it shall be drawn. */
const drawnKinds = [
  ...(['get', 'get', 'get', 'get', 'get', 'get', 'get', 'get'] as const),
  ...(['set', 'set', 'set', 'set', 'set', 'set', 'set', 'set'] as const),
  ...(['set-nx', 'set-xx', 'set-get', 'set-keepttl', 'set-ex', 'set-ex', 'set-ex'] as const),
  ...(['getset', 'getdel', 'incr', 'incr', 'del', 'expire', 'mget', 'mset'] as const),
] as const;

/** Values of different writes of one key are at least this far apart. */
export const valueSpacing = 1_000;

/** All values have the first digits of this one, and as many digits. */
const valuesFrom = 4_270_000_000_000;
const markDigits = 3;
const valueDigits = String(valuesFrom).length;
const mark = Buffer.from(String(valuesFrom).slice(0, markDigits));

/** Calls `found` for each value in the bytes `from..to - 1`, wherever it stands there. */
export function eachValueIn(bytes: Buffer, from: number, to: number, found: (value: number) => void): void {
  const within = bytes.subarray(0, to);
  for (let at = within.indexOf(mark, from); at >= 0; at = within.indexOf(mark, at + 1)) {
    const text = within.toString('latin1', at, at + valueDigits);
    if (text.length === valueDigits && /^\d+$/.test(text)) found(Number(text));
  }
}

/** Longest value in bytes. */
export const valueBytes = valueDigits;

const hotCount = 3;
const coldCount = 14;
const commandsMax = 32;
/** Keys of one command at most. */
const keysMax = 4;
/** Longer than any run, clock jumps included: nothing expires. */
const longTtlSeconds = 1_000_000;

const hotKeys = Array.from({ length: hotCount }, (_, index) => `h${index}`);
const coldKeys = Array.from({ length: coldCount }, (_, index) => `d${index}`);

/** Every key that pipelines use. */
export const pipelineKeys: readonly string[] = [...hotKeys, ...coldKeys];

/**
 * The commands of one operation: 2 to 32, or, with amount 0, a GET of every key. Of kind `sets`: plain SETs of keys that
 * no other operation has, so that only this one can have brought their values to a disk, an MGET and GETs of them.
 */
export function pipelineCommands({
  id,
  kind,
  amount,
}: {
  readonly id: string;
  readonly kind?: string;
  readonly amount: number;
}): readonly PipelineCommand[] {
  if (amount === 0) return pipelineKeys.map((key) => commandOf('get', [key], 0, false));
  const next = choices(amount);
  const count = 2 + next(commandsMax - 1);
  const number = Number(id.replaceAll(/\D/g, ''));
  const first = (1 + number) * (commandsMax + 1);
  const valueOf = (index: number): number => valuesFrom + (first + index) * keysMax * valueSpacing;
  if (kind === 'sets') {
    const keys = Array.from({ length: Math.ceil(count / 2) }, (_, index) => `s${number}.${index}`);
    return [
      ...keys.map((key, index) => commandOf('set', [key], valueOf(index), false)),
      commandOf('mget', keys, 0, false),
      ...keys.map((key) => commandOf('get', [key], 0, false)),
    ];
  }
  const commands: PipelineCommand[] = [];
  /** Commands left until EXEC; undefined outside MULTI. */
  let left: number | undefined;
  while (commands.length < count || left !== undefined) {
    if (left === 0) {
      commands.push(bare('exec'));
      left = undefined;
    } else if (left === undefined && next(14) === 0 && commands.length + 3 < count) {
      commands.push(bare('multi'));
      left = Math.min(1 + next(4), count - commands.length - 1);
    } else {
      commands.push(drawn(next, valueOf(commands.length), left !== undefined));
      if (left !== undefined) left -= 1;
    }
  }
  return commands;
}

/** Draws a whole number below its argument. */
export type Choose = (below: number) => number;

/** Chance from a seed alone (Park and Miller's generator): the function draws a whole number below its argument. */
export function choices(seed: number): Choose {
  let state = (seed % 2_147_483_646) + 1;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return Math.floor((state / 2_147_483_647) * below);
  };
}

function drawn(next: Choose, value: number, queued: boolean): PipelineCommand {
  const kind = drawnKinds[next(drawnKinds.length)] ?? 'get';
  const key = keyBy(next);
  const keys = kind === 'mget' || kind === 'mset' ? [...new Set([key, keyBy(next), keyBy(next)])] : [key];
  return commandOf(kind, keys, value, queued);
}

function keyBy(next: Choose): string {
  const keys = next(5) < 3 ? hotKeys : coldKeys;
  return keys[next(keys.length)] ?? 'h0';
}

function commandOf(
  kind: Exclude<PipelineKind, 'multi' | 'exec'>,
  keys: readonly string[],
  value: number,
  queued: boolean,
): PipelineCommand {
  const [key = ''] = keys;
  const set = (...options: readonly string[]): Pick<PipelineCommand, 'words' | 'values'> => ({
    words: ['SET', key, String(value), ...options],
    values: [value],
  });
  const plain = (...words: readonly string[]): Pick<PipelineCommand, 'words' | 'values'> => ({
    words,
    values: [],
  });
  const sent = {
    get: () => plain('GET', key),
    set: () => set(),
    'set-nx': () => set('NX'),
    'set-xx': () => set('XX'),
    'set-get': () => set('GET'),
    'set-keepttl': () => set('KEEPTTL'),
    'set-ex': () => set('EX', String(longTtlSeconds)),
    getset: () => ({ words: ['GETSET', key, String(value)], values: [value] }),
    getdel: () => plain('GETDEL', key),
    incr: () => plain('INCR', key),
    del: () => plain('DEL', key),
    expire: () => plain('EXPIRE', key, String(longTtlSeconds)),
    mget: () => plain('MGET', ...keys),
    mset: () => {
      const values = keys.map((_, at) => value + at * valueSpacing);
      return { words: ['MSET', ...keys.flatMap((one, at) => [one, String(values[at])])], values };
    },
  }[kind]();
  return { kind, keys, queued, ...sent };
}

function bare(kind: 'multi' | 'exec'): PipelineCommand {
  return { kind, words: [kind.toUpperCase()], keys: [], values: [], queued: false };
}
