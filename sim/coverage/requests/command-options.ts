/**
 * The options of Redis commands: words with a meaning of their own behind a command's name, among them the names of
 * subcommands. A test compares them with the words in the source of the commands.
 */
import { commands } from '../../../engine/api/redis/commands.ts';
import { itself } from './entry.ts';
import type { FoundField } from './message-fields.ts';

const expiries = 'EX PX EXAT PXAT';
const conditions = 'NX XX GT LT';

/** The options by command in lower case; other commands have none. */
const options: Readonly<Record<string, string>> = {
  set: `${expiries} KEEPTTL GET NX XX`,
  getex: `${expiries} PERSIST`,
  expire: conditions,
  pexpire: conditions,
  expireat: conditions,
  pexpireat: conditions,
  copy: 'REPLACE DB',
  scan: 'MATCH COUNT TYPE',
  bitcount: 'BYTE BIT',
  bitpos: 'BYTE BIT',
  lcs: 'IDX LEN WITHMATCHLEN MINMATCHLEN',
  flushdb: 'ASYNC SYNC',
  flushall: 'ASYNC SYNC',
  object: 'ENCODING IDLETIME REFCOUNT FREQ HELP',
  hello: 'AUTH SETNAME',
  config: 'GET SET REWRITE RESETSTAT',
  client: 'SETNAME GETNAME ID SETINFO LIB-NAME LIB-VER INFO LIST NO-EVICT NO-TOUCH REPLY ON OFF HELP',
  command: 'COUNT DOCS INFO LIST HELP',
  script: 'LOAD EXISTS FLUSH ASYNC SYNC KILL HELP',
  pubsub: 'CHANNELS SHARDCHANNELS NUMSUB SHARDNUMSUB NUMPAT HELP',
};

const byCommand: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [...commands.keys()].map((name) => [
    name,
    new Set((options[name] ?? '').split(' ').filter((word) => word !== '')),
  ]),
);

/** Every command with its options. */
export function acceptedCommands(): readonly (readonly [request: string, field: string])[] {
  return [...byCommand].flatMap(([name, words]) =>
    [itself, ...words].map((field) => [name.toUpperCase(), field] as const),
  );
}

/** Calls `found` for the command and for each of its options. */
export function optionsIn(request: readonly Buffer[], found: FoundField): void {
  const name = request[0]?.toString('latin1').toLowerCase() ?? '';
  const words = byCommand.get(name);
  if (words === undefined) return;
  const shown = name.toUpperCase();
  found(shown, itself);
  if (words.size === 0) return;
  for (const argument of request.slice(1)) {
    if (argument.length > longestWord) continue;
    const word = argument.toString('latin1').toUpperCase();
    if (words.has(word)) found(shown, word);
  }
}

const longestWord = 16;
