/** Errors in Redis's words. A refused command has changed nothing, unless its word says otherwise. */
import type { ErrorCode, LockstepError } from '../../base/errors.ts';
import type { Failure } from '../client-observer.ts';

/** A refusal that is sent as it is, its word first: `ERR syntax error`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

export const texts = {
  syntax: 'ERR syntax error',
  notInteger: 'ERR value is not an integer or out of range',
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
 * The line of an error of the table: its code in capitals, or Redis's word where it has one. `NOQUORUM`, `TIMEOUT`,
 * `STORAGEFAILED`, `PEERGONE`, `INTERNAL` and `INDOUBT` leave it open whether the command was carried out.
 */
export function refusalText({ code, message }: LockstepError): string {
  return `${wordOf(code)} ${message}`;
}

export function wordOf(code: ErrorCode): string {
  return ownWords[code] ?? code.toUpperCase();
}

/** Codes of those errors that are counted by their cause, by their words. */
const codesByWord: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ...(
    ['NoTargets', 'NoQuorum', 'Timeout', 'ReplicasDisagree', 'Overloaded', 'ShuttingDown', 'Standby'] as const
  ).map((code) => [wordOf(code), code] as const),
  ['DISKFULL', 'StorageFailed'],
]);
const definiteWords: readonly string[] = ['DISKFULL'];

/** What an error line is counted as; `definite`: its error said so. What is only Redis's word has no cause. */
export function failureOf(text: string, definite: boolean): Failure {
  if (text.startsWith('ABORTED prepare_timeout')) return { code: 'Timeout', definite: false };
  const word = text.slice(0, Math.max(0, text.indexOf(' ')));
  return { code: codesByWord.get(word) ?? 'BadRequest', definite: definite || definiteWords.includes(word) };
}

export function wrongArity(name: string): Refusal {
  return new Refusal(`ERR wrong number of arguments for '${name}' command`);
}

export function invalidExpiry(name: string): Refusal {
  return new Refusal(`ERR invalid expire time in '${name}' command`);
}

/** Redis shows at most 128 bytes of the name, and arguments up to about as much. */
export function unknownCommand(request: readonly Buffer[]): string {
  let shown = '';
  for (const argument of request.slice(1)) {
    if (shown.length >= 128) break;
    shown += `'${argument.toString('latin1', 0, 128 - shown.length)}' `;
  }
  const name = request[0]?.toString('latin1', 0, 128) ?? '';
  return `ERR unknown command '${name}', with args beginning with: ${shown}`;
}

export function unknownSubcommand(command: string, given: string): Refusal {
  return new Refusal(`ERR unknown subcommand '${given.slice(0, 128)}'. Try ${command} HELP.`);
}
