/** The entries of Redis commands and their options. */
import type { RequestEntry } from './entry.ts';

const constant = 'its answer does not depend on what is stored';
const alike = 'not tried yet: it changes a value by the same step as a command that clients send';
const readsAlike = 'it shows a part of what GET shows, from the same read';
const refused = 'refused: it is not supported';

function unsent(commands: string, reason: string, options = ''): readonly RequestEntry[] {
  return commands.split(' ').map((request) => ({
    request,
    sent: {},
    unsent: { [reason]: `(itself) ${options}` },
  }));
}

function sent(module: string, commands: string): readonly RequestEntry[] {
  return commands.split(' ').map((request) => ({ request, sent: { [module]: '(itself)' } }));
}

/** The entries. */
export const commandEntries: readonly RequestEntry[] = [
  ...sent(
    'workload/redis-client',
    'GET MGET EXISTS GETSET GETDEL APPEND SETRANGE MSET INCR DEL EVAL DBSIZE WATCH UNWATCH MULTI EXEC SELECT ECHO PUBLISH SPUBLISH PSETEX SETNX PERSIST',
  ),
  {
    request: 'SET',
    sent: { 'workload/redis-client': '(itself) EX PX EXAT PXAT KEEPTTL GET NX XX' },
  },
  {
    request: 'EXPIRE',
    sent: { 'workload/redis-client': '(itself)' },
    unsent: { 'PEXPIRE is sent with them': 'NX XX GT LT' },
  },
  { request: 'PEXPIRE', sent: { 'workload/redis-client': '(itself) NX XX GT LT' } },
  ...unsent('EXPIREAT', 'PEXPIREAT is sent: seconds become milliseconds first', 'NX XX GT LT'),
  {
    request: 'PEXPIREAT',
    sent: { 'workload/redis-client': '(itself)' },
    unsent: { 'PEXPIRE is sent with them': 'NX XX GT LT' },
  },
  {
    request: 'GETEX',
    sent: { 'workload/redis-client': '(itself) PX EXAT PERSIST' },
    unsent: { 'SET is sent with them': 'EX PXAT' },
  },
  {
    request: 'SCAN',
    sent: { 'workload/redis-client': '(itself) COUNT' },
    unsent: { 'it filters the names of a page, which has tests of its own': 'MATCH TYPE' },
  },
  ...['FLUSHDB', 'FLUSHALL'].map((request) => ({
    request,
    sent: { 'workload/redis-client': '(itself)' },
    unsent: { 'both words change nothing': 'ASYNC SYNC' },
  })),
  ...sent('workload/redis-listener', 'SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE'),
  ...sent('workload/redis-connection', 'AUTH'),
  ...unsent('STRLEN GETRANGE SUBSTR TOUCH GETBIT TYPE', readsAlike),
  ...unsent('TTL PTTL EXPIRETIME PEXPIRETIME', 'not tried yet: `redis-expiry` sees when a value is gone'),
  ...unsent('OBJECT', constant, 'ENCODING IDLETIME REFCOUNT FREQ HELP'),
  ...unsent('BITCOUNT BITPOS', readsAlike, 'BYTE BIT'),
  ...unsent('LCS', readsAlike, 'IDX LEN WITHMATCHLEN MINMATCHLEN'),
  ...unsent('SETEX MSETNX INCRBY DECR DECRBY INCRBYFLOAT UNLINK SETBIT', alike),
  ...unsent('RENAME RENAMENX', alike),
  ...unsent('COPY', alike, 'REPLACE DB'),
  ...unsent('EVALSHA EVAL_RO EVALSHA_RO', 'EVAL is sent: the others run the same script'),
  ...unsent('KEYS RANDOMKEY', 'it reads the pages that SCAN reads'),
  ...unsent(
    'PUBSUB',
    'it shows who listens, and changes nothing',
    'CHANNELS SHARDCHANNELS NUMSUB SHARDNUMSUB NUMPAT HELP',
  ),
  ...unsent('DISCARD', 'it forgets the queue of its connection'),
  ...unsent('PING QUIT RESET TIME INFO WAIT SAVE', constant),
  ...unsent('SHUTDOWN', refused),
  ...unsent('HELLO', 'the connection alone: the client speaks RESP2', 'AUTH SETNAME'),
  ...unsent('COMMAND', constant, 'COUNT DOCS INFO LIST HELP'),
  ...unsent(
    'CLIENT',
    'the connection alone',
    'SETNAME GETNAME ID SETINFO LIB-NAME LIB-VER INFO LIST NO-EVICT NO-TOUCH REPLY ON OFF HELP',
  ),
  ...unsent('CONFIG', 'it shows the configuration, and changes nothing', 'GET SET REWRITE RESETSTAT'),
  ...unsent('SCRIPT', 'EVAL is sent with the whole script', 'LOAD EXISTS FLUSH ASYNC SYNC KILL HELP'),
];
