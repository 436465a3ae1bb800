/**
 * A script (EVAL) behind WATCH: its client watches a key of its own, writes it in half of the cases, and runs the
 * script, in half of the cases between MULTI and EXEC. Sometimes the key holds a value that expires between WATCH and
 * MULTI. In half of the transactions another command, which needs no value, names the script's keys before it. Plain data
 * and pure functions of an operation's amount and its replies.
 */

/** The time to live of a watched value that expires before MULTI, in milliseconds. */
export const watchedTtlMs = 250;
/** How long the value has certainly expired before MULTI, by true time. */
export const watchedSpareMs = 100;

/** The commands up to WATCH. */
export function commandsOfWatch(
  { id, amount }: { readonly id: string; readonly amount: number },
  watchedKey: string,
): readonly (readonly (string | number)[])[] {
  const watch = ['WATCH', watchedKey];
  return formOf(amount).isExpiring ? [['SET', watchedKey, id, 'PX', watchedTtlMs], watch] : [watch];
}

/** The commands behind WATCH, which was answered. `script`: the words of its EVAL; `keys`: those that it names. */
export function commandsUnderWatch(
  { id, amount }: { readonly id: string; readonly amount: number },
  watchedKey: string,
  script: readonly (string | number)[],
  keys: readonly string[],
): readonly (readonly (string | number)[])[] {
  const { isTouched, isQueued, namesKeys } = formOf(amount);
  const queued = namesKeys ? [['EXISTS', ...keys], script] : [script];
  return [
    ...(isTouched ? [['SET', watchedKey, id]] : []),
    ...(isQueued ? [['MULTI'], ...queued, ['EXEC']] : [script]),
    ['UNWATCH'],
  ];
}

/** What a script behind WATCH was sent behind, and whether it ran. */
export interface Watched {
  /** It stood between MULTI and EXEC. */
  readonly isQueued: boolean;
  /** The watched key was certainly written since WATCH. */
  readonly isTouched: boolean;
  /** The watched key held a value at WATCH that had expired before MULTI; its client did not write it since. */
  readonly isExpiring: boolean;
  /**
   * Whether the script was carried out; undefined if its answer, or that of a command before it, is an error or missing.
   */
  readonly ran: boolean | undefined;
  /** The answer of the script, in the form of `RedisRecord.replies`; undefined if there is none. */
  readonly answer: string | undefined;
}

/** Reads the replies to `commandsUnderWatch`. */
export function watchedOf({
  amount,
  replies,
}: {
  readonly amount: number;
  readonly replies: readonly string[];
}): Watched {
  const { isTouched, isQueued, isExpiring, namesKeys } = formOf(amount);
  const before = isTouched ? 1 : 0;
  const last = replies[before + (namesKeys ? 3 : isQueued ? 2 : 0)];
  const answer = isQueued ? partOf(last) : last;
  const isClear =
    replies.slice(0, before).every((reply) => reply === '+OK') && answer?.startsWith('-') === false;
  return { isQueued, isTouched, isExpiring, ran: isClear ? answer !== 'nil' : undefined, answer };
}

/** Whether the script's client has a value expire between WATCH and MULTI. */
export function watchesExpiringValue({ amount }: { readonly amount: number }): boolean {
  return formOf(amount).isExpiring;
}

/**
 * What the operation left under its client's watched key: `none` if it wrote nothing there, `lasting` if its value, which
 * never expires, was certainly stored; else `doubtful`: a value that expires, or one that may not be stored.
 */
export function setByWatch(operation: {
  readonly amount: number;
  readonly replies: readonly string[];
}): 'none' | 'lasting' | 'doubtful' {
  const { isTouched, isExpiring } = formOf(operation.amount);
  if (!isTouched) return isExpiring ? 'doubtful' : 'none';
  return operation.replies[0] === '+OK' ? 'lasting' : 'doubtful';
}

function formOf(amount: number): {
  readonly isTouched: boolean;
  readonly isQueued: boolean;
  readonly isExpiring: boolean;
  readonly namesKeys: boolean;
} {
  const isQueued = amount % 4 >= 2;
  return {
    isTouched: amount % 2 === 1,
    isQueued,
    isExpiring: amount % 8 === 2,
    namesKeys: isQueued && Math.floor(amount / 8) % 2 === 1,
  };
}

/** The last part of EXEC's reply, or the reply itself if it has no parts. */
function partOf(reply: string | undefined): string | undefined {
  if (reply?.startsWith('*') !== true) return reply;
  return (JSON.parse(reply.slice(1)) as readonly string[]).at(-1);
}
