/**
 * Answers commands about the connection itself (client, protocol version, name) and about the server. They need nothing
 * that is stored, so they are answered at once.
 */
import type { Command } from './commands.ts';
import { commands } from './commands.ts';
import { compileGlob } from './glob.ts';
import { mustReadInteger } from './numbers.ts';
import { Refusal, texts, unknownSubcommand, wrongArity } from './refusals.ts';
import type { RespVersion } from './replies.ts';
import {
  arrayReply,
  bulkReply,
  emptyArray,
  integerReply,
  mapReply,
  nilArrayReply,
  nilReply,
  okReply,
  plainTextReply,
  pongReply,
  simpleReply,
  textReply,
} from './replies.ts';
import type { Request } from './request-reader.ts';
import { answerScript } from './script-commands.ts';
import type { ScriptRunner } from './value-commands.ts';
import { argument } from './value-commands.ts';

/** The version of Redis whose commands and texts this listener has. */
export const redisVersion = '7.0.15';

/** The state of one connection, as CLIENT, HELLO and INFO show it. */
export interface ConnectionState {
  readonly id: number;
  readonly remote: string;
  readonly sinceUs: number;
  /** The number of the logical database that SELECT chose. */
  database: number;
  version: RespVersion;
  name: string;
  libraryName: string;
  libraryVersion: string;
  lastCommand: string;
}

/** The listener of the connection. */
export interface ListenerState {
  readonly node: string;
  readonly productVersion: string;
  readonly bucket: string;
  readonly startedUs: number;
  /** Logical databases, numbered from 0. */
  readonly databaseCount: number;
  readonly scripts: ScriptRunner;
  /** What CONFIG GET shows, by name. */
  readonly settings: ReadonlyMap<string, string>;
  /** Replicas beside the first that have an acknowledged write on stable storage. */
  acknowledgingReplicas(): number;
  nowUs(): number;
  wallMs(): number;
  connections(): Iterable<ConnectionState>;
}

/** The subcommands of each command that has some, with their arity as Redis states it. */
const subcommands: ReadonlyMap<string, ReadonlyMap<string, number>> = new Map([
  [
    'client',
    aritiesIn('setname 3 getname 2 id 2 setinfo 4 info 2 list -2 no-evict 3 no-touch 3 reply 3 help 2'),
  ],
  ['command', aritiesIn('count 2 docs -2 info -2 list -2')],
  ['config', aritiesIn('get -3 resetstat 2 rewrite 2 set -4')],
  ['script', aritiesIn('exists -3 flush -2 help 2 kill 2 load 3')],
]);

/** The pairs of a name and a number in the text. */
function aritiesIn(text: string): ReadonlyMap<string, number> {
  const pairs = text.matchAll(/(\S+) (-?\d+)/g);
  return new Map([...pairs].map(([, name = '', arity]) => [name, Number(arity)]));
}

/** Refuses an unknown subcommand, and one with a wrong number of arguments. Throws `Refusal`. */
export function checkSubcommand({ name }: Command, request: Request): void {
  const known = subcommands.get(name);
  if (known === undefined || request.length === 1) return;
  const given = argument(request, 1).toString('latin1');
  const arity = known.get(given.toLowerCase());
  if (arity === undefined) throw unknownSubcommand(name.toUpperCase(), given);
  if (arity >= 0 ? request.length === arity : request.length >= -arity) return;
  throw wrongArity(`${name}|${given.toLowerCase()}`);
}

/** Answers a connection command. Throws `Refusal`. The session carries out QUIT, RESET and AUTH. */
export function answerConnection(
  command: Command,
  request: Request,
  state: ConnectionState,
  listener: ListenerState,
): Buffer {
  checkSubcommand(command, request);
  const { name } = command;
  switch (name) {
    case 'ping':
      if (request.length > 2) throw wrongArity('ping');
      return request.length === 2 ? bulkReply(argument(request, 1)) : pongReply;
    case 'echo':
      return bulkReply(argument(request, 1));
    case 'select':
      state.database = databaseOf(mustReadInteger(request[1]), listener);
      return okReply;
    case 'time': {
      const ms = listener.wallMs();
      return arrayReply([textReply(String(Math.floor(ms / 1000))), textReply(`${ms % 1000}000`)]);
    }
    case 'wait':
      if (mustReadInteger(request[2]) < 0n) throw new Refusal('ERR timeout is negative');
      mustReadInteger(request[1]);
      return integerReply(listener.acknowledgingReplicas());
    case 'config':
      return answerConfig(request, state, listener);
    case 'script':
      return answerScript(request, listener.scripts);
    case 'save':
      // Every acknowledged write is on stable storage already.
      return okReply;
    case 'shutdown':
      throw new Refusal('ERR SHUTDOWN is not supported: stop the node by its process, with SIGTERM');
    case 'command':
      return answerCommand(request, state.version);
    case 'info':
      return plainTextReply(state.version, infoText(request, listener));
    case 'client':
      return answerClient(request, state, listener);
    default:
      throw new Refusal(texts.syntax);
  }
}

/** HELLO's options: the version, a user with a password, a name. Throws `Refusal`. */
export function helloOptions(request: Request): {
  readonly version: RespVersion | undefined;
  readonly user: string | undefined;
  readonly password: Buffer;
  readonly name: string | undefined;
} {
  let version: RespVersion | undefined;
  let user: string | undefined;
  let name: string | undefined;
  let password: Buffer = Buffer.alloc(0);
  if (request.length > 1) {
    const given = argument(request, 1).toString('latin1');
    if (!/^-?[0-9]{1,18}$/.test(given)) {
      throw new Refusal('ERR Protocol version is not an integer or out of range');
    }
    if (given !== '2' && given !== '3') throw new Refusal('NOPROTO unsupported protocol version');
    version = given === '2' ? 2 : 3;
  }
  for (let at = 2; at < request.length; at++) {
    const word = argument(request, at).toString('latin1').toUpperCase();
    if (word === 'AUTH' && at + 2 < request.length) {
      user = argument(request, at + 1).toString('utf8');
      password = argument(request, at + 2);
      at += 2;
    } else if (word === 'SETNAME' && at + 1 < request.length) {
      name = mustBeName(argument(request, at + 1));
      at += 1;
    } else throw new Refusal(`ERR Syntax error in HELLO option '${argument(request, at).toString('utf8')}'`);
  }
  return { version, user, password, name };
}

/** HELLO's reply: the properties of server and connection. */
export function helloReply({ version, id }: ConnectionState): Buffer {
  return mapReply(version, [
    ...[textReply('server'), textReply('redis')],
    ...[textReply('version'), textReply(redisVersion)],
    ...[textReply('proto'), integerReply(version)],
    ...[textReply('id'), integerReply(id)],
    ...[textReply('mode'), textReply('standalone')],
    ...[textReply('role'), textReply('master')],
    ...[textReply('modules'), emptyArray],
  ]);
}

function databaseOf(given: bigint, { databaseCount }: ListenerState): number {
  if (given < 0n || given >= BigInt(databaseCount)) throw new Refusal('ERR DB index is out of range');
  return Number(given);
}

/** CONFIG GET of patterns. The configuration is a file of the node, so the other subcommands are refused. */
function answerConfig(request: Request, { version }: ConnectionState, { settings }: ListenerState): Buffer {
  const given = argument(request, 1).toString('latin1');
  switch (given.toUpperCase()) {
    case 'GET': {
      const patterns = request
        .slice(2)
        .map((one) => compileGlob(Buffer.from(one.toString('latin1').toLowerCase())));
      const shown = [...settings].filter(([name]) => patterns.some((matches) => matches(name)));
      return mapReply(
        version,
        shown.flatMap(([name, value]) => [textReply(name), textReply(value)]),
      );
    }
    case 'SET':
    case 'REWRITE':
    case 'RESETSTAT':
      throw new Refusal(
        `ERR CONFIG ${given.toUpperCase()} is not supported: the configuration is the node's file, see lockstep check-config`,
      );
    default:
      throw unknownSubcommand('CONFIG', given);
  }
}

/** Longer than any name that a client gives itself; a connection holds it until its end. */
const nameBytesMax = 4096;

function mustBeName(bytes: Buffer): string {
  if (bytes.length > nameBytesMax) throw new Refusal(`ERR Client names have at most ${nameBytesMax} bytes.`);
  for (const byte of bytes) {
    if (byte >= 0x21 && byte <= 0x7e) continue;
    throw new Refusal('ERR Client names cannot contain spaces, newlines or special characters.');
  }
  return bytes.toString('latin1');
}

function answerClient(request: Request, state: ConnectionState, listener: ListenerState): Buffer {
  switch (argument(request, 1).toString('latin1').toUpperCase()) {
    case 'SETNAME':
      state.name = mustBeName(argument(request, 2));
      return okReply;
    case 'GETNAME':
      return state.name === '' ? nilReply(state.version) : textReply(state.name);
    case 'ID':
      return integerReply(state.id);
    case 'SETINFO':
      return setInfo(request, state);
    case 'INFO':
      return plainTextReply(state.version, `${describe(state, listener)}\n`);
    case 'LIST':
      return plainTextReply(
        state.version,
        [...listener.connections()].map((one) => `${describe(one, listener)}\n`).join(''),
      );
    case 'NO-EVICT':
    case 'NO-TOUCH':
      return mustBeOnOrOff(argument(request, 2));
    case 'REPLY':
      // Without replies, a client could not match later replies to its commands. Libraries do not send this by
      // themselves.
      if (argument(request, 2).toString('latin1').toUpperCase() === 'ON') return okReply;
      throw new Refusal('ERR CLIENT REPLY OFF and SKIP are not supported');
    default:
      return arrayReply(clientHelp.map((line) => simpleReply(line)));
  }
}

const clientHelp: readonly string[] = [
  'CLIENT <subcommand> [<arg> ...]. Subcommands are:',
  'GETNAME, SETNAME <name>, ID, INFO, LIST, SETINFO <LIB-NAME|LIB-VER> <value>, NO-EVICT <ON|OFF>,',
  'NO-TOUCH <ON|OFF>, REPLY ON, HELP',
];

function setInfo(request: Request, state: ConnectionState): Buffer {
  const attribute = argument(request, 2).toString('latin1').toUpperCase();
  const value = mustBeName(argument(request, 3));
  if (attribute === 'LIB-NAME') state.libraryName = value;
  else if (attribute === 'LIB-VER') state.libraryVersion = value;
  else throw new Refusal(`ERR Unrecognized option '${argument(request, 2).toString('utf8')}'`);
  return okReply;
}

function mustBeOnOrOff(word: Buffer): Buffer {
  const given = word.toString('latin1').toUpperCase();
  if (given !== 'ON' && given !== 'OFF') throw new Refusal(texts.syntax);
  return okReply;
}

function describe(state: ConnectionState, listener: ListenerState): string {
  const ageSeconds = Math.floor((listener.nowUs() - state.sinceUs) / 1_000_000);
  return [
    `id=${state.id} addr=${state.remote} name=${state.name} age=${ageSeconds} db=${state.database}`,
    `resp=${state.version} cmd=${state.lastCommand} lib-name=${state.libraryName} lib-ver=${state.libraryVersion}`,
  ].join(' ');
}

/** The sections that clients read; an unknown one is empty, as in Redis. */
function infoText(request: Request, listener: ListenerState): string {
  const uptimeSeconds = Math.floor((listener.nowUs() - listener.startedUs) / 1_000_000);
  const sections: readonly (readonly [string, readonly string[]])[] = [
    [
      'Server',
      [
        `redis_version:${redisVersion}`,
        'redis_mode:standalone',
        `lockstep_version:${listener.productVersion}`,
        `lockstep_node:${listener.node}`,
        `lockstep_bucket:${listener.bucket}`,
        `uptime_in_seconds:${uptimeSeconds}`,
      ],
    ],
    ['Clients', [`connected_clients:${[...listener.connections()].length}`]],
    ['Persistence', ['loading:0']],
    ['Replication', ['role:master', 'connected_slaves:0']],
    ['Cluster', ['cluster_enabled:0']],
  ];
  const asked = request.slice(1).map((name) => name.toString('latin1').toLowerCase());
  const all = asked.length === 0 || asked.some((name) => ['default', 'all', 'everything'].includes(name));
  return sections
    .filter(([title]) => all || asked.includes(title.toLowerCase()))
    .map(([title, lines]) => [`# ${title}`, ...lines, ''].join('\r\n'))
    .join('\r\n');
}

function answerCommand(request: Request, version: RespVersion): Buffer {
  if (request.length === 1) return arrayReply([...commands.values()].map(describeCommand));
  const given = argument(request, 1).toString('latin1');
  const named = request.slice(2).map((name) => name.toString('latin1').toLowerCase());
  switch (given.toUpperCase()) {
    case 'COUNT':
      return integerReply(commands.size);
    case 'LIST':
      return arrayReply([...commands.keys()].map(textReply));
    case 'INFO':
      return arrayReply(
        (named.length === 0 ? [...commands.keys()] : named).map((name) => {
          const command = commands.get(name);
          return command === undefined ? nilArrayReply(version) : describeCommand(command);
        }),
      );
    case 'DOCS':
      return mapReply(
        version,
        named.length === 0 ? [...commands.values()].flatMap(docsOf) : docsOfNamed(named),
      );
    default:
      throw unknownSubcommand('COMMAND', given);
  }

  function docsOfNamed(names: readonly string[]): readonly Buffer[] {
    return names.flatMap((name) => {
      const command = commands.get(name);
      return command === undefined ? [] : docsOf(command);
    });
  }

  function docsOf(command: Command): readonly Buffer[] {
    return [textReply(command.name), mapReply(version, [textReply('group'), textReply(groupOf(command))])];
  }
}

function groupOf({ kind }: Command): string {
  if (kind === 'connection') return 'connection';
  if (kind === 'transaction') return 'transactions';
  return kind === 'keyspace' ? 'generic' : 'string';
}

/** As Redis has it of commands whose keys no places tell. */
const noPlaces = { first: 0, last: 0, step: 0 };

/** FLUSHALL concerns all keys, as KEYS does, and writes. */
function flagOf(kind: Command['kind'], access: Command['access']): string {
  if (kind === 'read') return 'readonly';
  if (kind === 'keyspace') return access === 'write' ? 'write' : 'readonly';
  return kind === 'write' ? 'write' : 'fast';
}

/**
 * Name, arity, flags, first and last key, step; then categories, tips, key specifications and subcommands, all empty.
 */
function describeCommand({ name, arity, kind, places, access }: Command): Buffer {
  const hasMovableKeys = places?.countAt !== undefined;
  const { first, last, step } = hasMovableKeys || places === undefined ? noPlaces : places;
  const flags = [flagOf(kind, access), ...(hasMovableKeys ? ['movablekeys'] : [])];
  return arrayReply([
    textReply(name),
    integerReply(arity),
    arrayReply(flags.map(simpleReply)),
    integerReply(first),
    integerReply(last),
    integerReply(step),
    ...[emptyArray, emptyArray, emptyArray, emptyArray],
  ]);
}
