/**
 * Maps errors to Redis's error lines. A refused command has changed nothing, unless the first word of its line leaves
 * that open.
 */
import type { ErrorCode } from '../../base/errors.ts';
import { LockstepError, errorCodes, errorTable } from '../../base/errors.ts';
import type { Failure } from '../client-observer.ts';

/** A refusal whose message is sent unchanged, with the error's word first: `ERR syntax error`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** The error lines that several modules use. */
export const texts = {
  syntax: 'ERR syntax error',
  notInteger: 'ERR value is not an integer or out of range',
  noScript: 'NOSCRIPT No matching script. Please use EVAL.',
  notFloat: 'ERR value is not a valid float',
  overflow: 'ERR increment or decrement would overflow',
  decrementOverflow: 'ERR decrement would overflow',
  notFinite: 'ERR increment would produce NaN or Infinity',
  offset: 'ERR offset is out of range',
  tooLong: 'ERR string exceeds maximum allowed size (proto-max-bulk-len)',
  noPassword:
    'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
  wrongPassword: 'WRONGPASS invalid username-password pair or user is disabled.',
  noAuth: 'NOAUTH Authentication required.',
  helloNoAuth:
    'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time',
  noMulti: 'ERR EXEC without MULTI',
  nestedMulti: 'ERR MULTI calls can not be nested',
  watchInside: 'ERR WATCH inside MULTI is not allowed',
  execAbort: 'EXECABORT Transaction discarded because of previous errors.',
  tryAgain: 'TRYAGAIN others change the same keys all the time; nothing was done',
} as const;

const ownWords: Readonly<Partial<Record<ErrorCode, string>>> = {
  BadRequest: 'ERR',
  TooLarge: 'ERR',
  Unauthorized: 'NOPERM',
  Conflict: 'TRYAGAIN',
  PreconditionFailed: 'TRYAGAIN',
};

/**
 * The line of a `LockstepError`: its code in capitals, or Redis's word if there is one. `NOQUORUM`, `TIMEOUT`,
 * `STORAGEFAILED`, `PEERGONE`, `INTERNAL` and `INDOUBT` leave open whether the command was applied.
 */
export function refusalText({ code, message }: LockstepError): string {
  return `${wordOf(code)} ${message}`;
}

/**
 * The read that a write begins with failed. Nothing was sent for the write itself, so the error is definite whatever
 * its code leaves open.
 */
class UnreadError extends LockstepError {
  constructor(read: LockstepError) {
    super(read.code, read.message, { definite: true, cause: read });
  }
}

/** The error of a write whose own read failed. A read that was refused before anything was sent keeps its error. */
export function unread(read: LockstepError): LockstepError {
  return read.definite ? read : new UnreadError(read);
}

/**
 * A write was sent and is not known to have replaced what the key held, and a further step for it failed. The write may
 * count, so the error leaves the outcome open, whatever the failure says of its own step.
 */
export function unreplaced(why: string, cause?: LockstepError): LockstepError {
  return leftOpen(`the write is not known to be the newest: ${why}`, cause);
}

/** Some steps of a command are done and a further one failed, which says nothing of those. */
export function halfDone(cause: LockstepError): LockstepError {
  return leftOpen(`a part of it is done, and may not be the whole: ${cause.message}`, cause);
}

function leftOpen(detail: string, cause: LockstepError | undefined): LockstepError {
  const code = cause === undefined || errorTable[cause.code].definite ? 'NoQuorum' : cause.code;
  return new LockstepError(code, detail, cause && { cause });
}

/**
 * The line of the error of a write. A definite error whose code leaves the outcome open begins with `ABORTED` and the
 * code in lower case, behind `read_` if the write's own read failed: `ABORTED read_no_quorum: 1 of 2 replicas …`.
 */
export function writeRefusalText(error: LockstepError): string {
  const { code, message, definite } = error;
  if (!definite || errorTable[code].definite) return refusalText(error);
  return `${error instanceof UnreadError ? unreadPrefix : abortedPrefix}${snakeCase(code)}: ${message}`;
}

const abortedPrefix = 'ABORTED ';
const unreadPrefix = 'ABORTED read_';

/** `no_quorum` of `NoQuorum`. */
function snakeCase(code: ErrorCode): string {
  return code.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase();
}

/** The first word of the line of an error with this code. */
function wordOf(code: ErrorCode): string {
  return ownWords[code] ?? code.toUpperCase();
}

/** First words of the lines that leave open whether the command was applied. */
const openWords: ReadonlySet<string> = new Set([
  'INDOUBT',
  ...errorCodes.filter((code) => !errorTable[code].definite).map(wordOf),
]);

/** Whether the line of a write's error leaves open whether the write was applied. */
export function leavesOpen(text: string): boolean {
  return openWords.has(/^[^ :]*/.exec(text)?.[0] ?? '');
}

/** Codes of the errors that are counted by cause. */
const countedCodes = [
  ...([
    'NoTargets',
    'NoQuorum',
    'Timeout',
    'ReplicasDisagree',
    'Overloaded',
    'ShuttingDown',
    'Standby',
  ] as const),
  'StorageFailed',
] as const;
/** What a line is counted as, by its first word, or its first two if it begins with ABORTED. */
const failuresByWords: ReadonlyMap<string, Failure> = new Map<string, Failure>([
  ...countedCodes.map((code) => [wordOf(code), { code, definite: false }] as const),
  ...countedCodes.map((code) => [abortedPrefix + snakeCase(code), { code, definite: true }] as const),
  // Replicas were asked, though for nothing that changes anything.
  ...countedCodes.map((code) => [unreadPrefix + snakeCase(code), { code, definite: false }] as const),
  ['ABORTED prepare_timeout', { code: 'Timeout', definite: false }],
  ['DISKFULL', { code: 'StorageFailed', definite: true }],
]);
const firstWords = /^(?:ABORTED )?[^ :]*/;

/**
 * What an error line is counted as: its cause, and whether no replica was asked. `definite`: the error itself says that
 * nothing was done. Redis's own errors have no cause.
 */
export function failureOf(text: string, definite: boolean): Failure {
  const failure = failuresByWords.get(firstWords.exec(text)?.[0] ?? '');
  if (failure === undefined) return { code: 'BadRequest', definite };
  return text.startsWith(abortedPrefix)
    ? failure
    : { code: failure.code, definite: definite || failure.definite };
}

/** The refusal of a wrong number of arguments. */
export function wrongArity(name: string): Refusal {
  return new Refusal(`ERR wrong number of arguments for '${name}' command`);
}

/** The refusal of an invalid expiry. */
export function invalidExpiry(name: string): Refusal {
  return new Refusal(`ERR invalid expire time in '${name}' command`);
}

/**
 * The error line of an unknown command. Redis shows at most 128 bytes of the name, and of the arguments about as many.
 */
export function unknownCommand(request: readonly Buffer[]): string {
  let shown = '';
  for (const argument of request.slice(1)) {
    if (shown.length >= 128) break;
    shown += `'${argument.toString('latin1', 0, 128 - shown.length)}' `;
  }
  const name = request[0]?.toString('latin1', 0, 128) ?? '';
  return shownText(`ERR unknown command '${name}', with args beginning with: ${shown}`);
}

/** The refusal of an unknown subcommand. */
export function unknownSubcommand(command: string, given: string): Refusal {
  return new Refusal(shownText(`ERR unknown subcommand '${given.slice(0, 128)}'. Try ${command} HELP.`));
}

/** A text of bytes (latin1) as an error shows it. Errors are sent as UTF-8, which would encode each byte again. */
export function shownText(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
