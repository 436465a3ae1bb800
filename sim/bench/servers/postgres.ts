/**
 * PostgreSQL servers for comparison, where PostgreSQL is installed: started on loopback with data directories of their
 * own and synced commits, loaded with two-phase commits (`PREPARE TRANSACTION`, then `COMMIT PREPARED`) over the wire
 * protocol 3.0 (simple queries; PostgreSQL documentation, chapter 55). The client is the coordinator and keeps no log
 * of its decisions, which a real one would have to sync: the comparison favours PostgreSQL.
 */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { ErrorCounts, LoopResult } from '../load/closed-loop.ts';
import { countError } from '../load/closed-loop.ts';
import { familySeconds } from '../processor-time.ts';

/** A connection without any message for this many milliseconds is given up. */
const silenceMsMax = 15_000;
const debianDirectory = '/usr/lib/postgresql';

/** Running servers. */
export interface PostgresServers {
  readonly version: string;
  readonly ports: readonly number[];
  /** The servers' first processes. */
  readonly pids: readonly number[];
  /** Seconds of processor time that all of them have used so far. */
  processorSeconds(): number;
}

/** Directory of the installed server's programs; undefined if there is none. */
export function postgresPrograms(): string | undefined {
  if (!existsSync(debianDirectory)) return undefined;
  const versions = readdirSync(debianDirectory).sort((left, right) => Number(right) - Number(left));
  const directories = versions.map((version) => join(debianDirectory, version, 'bin'));
  return directories.find((directory) => existsSync(join(directory, 'initdb')));
}

/**
 * Creates a server for each port and waits until all answer. Root may not run them: then the user `postgres` does.
 * `began` receives each process as soon as it exists; SIGINT ends one gracefully.
 */
export async function startPostgres(
  programs: string,
  directory: string,
  ports: readonly number[],
  began: (child: ChildProcess) => void,
): Promise<PostgresServers> {
  const owner = ownerOfServers();
  mkdirSync(directory, { recursive: true });
  if (owner !== undefined) chownSync(directory, owner.uid, owner.gid);
  const children: ChildProcess[] = [];
  for (const port of ports) {
    const child = startServer(programs, join(directory, String(port)), port, owner);
    children.push(child);
    began(child);
    await untilServing(child, port);
  }
  const version = spawnSync(join(programs, 'postgres'), ['--version'], { encoding: 'utf8' }).stdout.trim();
  const processorSeconds = (): number => children.reduce((sum, { pid = 0 }) => sum + familySeconds(pid), 0);
  return { version, ports, pids: children.map(({ pid = 0 }) => pid), processorSeconds };
}

/**
 * Runs `connections` coordinators for `seconds`, each with a session on every server and keys of its own. A transaction
 * writes one row on each server. No two coordinators write the same key: each could lock it on one server and wait
 * forever for the other server's lock, a deadlock that neither server detects (Lockstep refuses a locked key instead).
 */
export async function postgresLoop(
  { ports }: Pick<PostgresServers, 'ports'>,
  connections: number,
  seconds: number,
  keys: number,
  valueBytes: number,
): Promise<LoopResult> {
  const latenciesUs: number[] = [];
  const errors: ErrorCounts = new Map();
  const value = 'v'.repeat(valueBytes);
  const sessions = await Promise.all(
    Array.from({ length: connections }, () => Promise.all(ports.map((port) => Session.open(port)))),
  );
  const startedUs = nowUs();
  const untilUs = startedUs + seconds * 1e6;
  const loops = sessions.map(async (pair, index) => {
    for (let count = 0; nowUs() < untilUs; count++) {
      const name = `'b${process.pid}-${index}-${startedUs}-${count}'`;
      const sentUs = nowUs();
      try {
        const key = index + connections * (count % Math.max(1, Math.floor(keys / connections)));
        const write = `insert into bench values (${key}, '${value}') on conflict (key) do update set value = excluded.value`;
        await Promise.all(pair.map((one) => one.query(`begin; ${write}; prepare transaction ${name}`)));
        await Promise.all(pair.map((one) => one.query(`commit prepared ${name}`)));
        latenciesUs.push(nowUs() - sentUs);
      } catch (error) {
        countError(errors, error);
        if (!(await recovered(pair, name))) return;
      }
    }
  });
  await Promise.all(loops);
  const took = (nowUs() - startedUs) / 1e6;
  for (const pair of sessions) for (const one of pair) one.close();
  return { operations: latenciesUs.length, errors, seconds: took, latenciesUs };
}

/** Undoes what may remain of a transaction on any server; false if a session has ended. */
async function recovered(pair: readonly Session[], name: string): Promise<boolean> {
  for (const session of pair) {
    for (const undo of ['rollback', `rollback prepared ${name}`]) {
      // The statement that the transaction does not need is an error, and changes nothing.
      await session.query(undo).catch(() => undefined);
    }
  }
  return pair.every(({ isOpen }) => isOpen);
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

function ownerOfServers(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string): number =>
    Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout);
  return { uid: idOf('-u'), gid: idOf('-g') };
}

function startServer(
  programs: string,
  directory: string,
  port: number,
  owner: Owner | undefined,
): ChildProcess {
  const as = owner ?? {};
  const flags = ['-D', directory, '-U', 'bench', '-A', 'trust', '--no-instructions'];
  const made = spawnSync(join(programs, 'initdb'), flags, { ...as, cwd: '/', encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const settings = [
    ...[`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200'],
    ...['max_prepared_transactions=200', 'fsync=on', 'synchronous_commit=on', 'log_min_messages=fatal'],
    'lock_timeout=2s',
  ];
  const args = ['-D', directory, ...settings.flatMap((setting) => ['-c', setting])];
  return spawn(join(programs, 'postgres'), args, { ...as, cwd: '/', stdio: 'ignore' });
}

async function untilServing(child: ChildProcess, port: number): Promise<void> {
  for (let attempt = 0; attempt < 150; attempt++) {
    if (child.exitCode !== null) throw new Error(`PostgreSQL ended; is port ${port} taken?`);
    try {
      const session = await Session.open(port);
      await session.query('create table bench (key int primary key, value text)');
      session.close();
      return;
    } catch {
      // The server is still starting.
      await sleep(200);
    }
  }
  throw new Error(`PostgreSQL does not answer on port ${port}`);
}

/** One connection; one query at a time. */
export class Session {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #waiting: { resolve: () => void; reject: (error: Error) => void } | undefined;
  #failure: string | undefined;
  #open = true;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setTimeout(silenceMsMax, () => socket.destroy());
    socket.on('data', (chunk: Buffer) => this.#hear(chunk));
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => {
      this.#open = false;
      this.#waiting?.reject(new Error('the connection is closed'));
    });
  }

  /** Whether the connection can be used. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Opens a connection to a server of this machine. */
  static async open(port: number): Promise<Session> {
    const session = new Session(connect(port, '127.0.0.1'));
    const body = Buffer.from('user\0bench\0database\0postgres\0\0');
    const head = Buffer.alloc(8);
    head.writeUInt32BE(8 + body.length);
    head.writeUInt32BE(196608, 4);
    await session.#exchange(Buffer.concat([head, body]));
    return session;
  }

  /** Rejects with the server's error text. */
  query(text: string): Promise<void> {
    const body = Buffer.from(`${text}\0`);
    const head = Buffer.alloc(5);
    head.write('Q');
    head.writeUInt32BE(4 + body.length, 1);
    return this.#exchange(Buffer.concat([head, body]));
  }

  /** Ends the connection. */
  close(): void {
    this.#socket.destroy();
  }

  #exchange(bytes: Buffer): Promise<void> {
    if (!this.#open) return Promise.reject(new Error('the connection is closed'));
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#failure = undefined;
      this.#socket.write(bytes);
    });
  }

  /** Messages: a letter, a length that counts itself, a body. `E` is an error, `Z` ends every exchange. */
  #hear(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    while (this.#received.length >= 5) {
      const whole = 1 + this.#received.readUInt32BE(1);
      if (this.#received.length < whole) return;
      const kind = this.#received.toString('latin1', 0, 1);
      const body = this.#received.toString('utf8', 5, whole);
      this.#received = this.#received.subarray(whole);
      if (kind === 'E')
        this.#failure =
          body
            .split('\0')
            .find((field) => field.startsWith('M'))
            ?.slice(1) ?? 'an error';
      if (kind === 'Z') this.#settle();
    }
  }

  #settle(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (this.#failure === undefined) waiting?.resolve();
    else waiting?.reject(new Error(this.#failure));
  }
}

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}
