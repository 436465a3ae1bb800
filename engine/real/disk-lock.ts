/**
 * An exclusive lock that dies with its holder: a directory of Unix sockets, one for each process that holds or wants
 * the lock.
 *
 * Node offers no `flock`. A file with a process id is wrong as soon as ids are reused or belong to another container.
 * An abstract socket is visible only within one network namespace. A socket file is visible to every process that sees
 * the directory. A connection to it succeeds exactly while its owner lives (a stopped process counts as living), and
 * the kernel closes it however the owner dies.
 *
 * To take the lock, a process listens on a socket with a new name. It then makes the name visible by a rename, so a
 * visible socket is one that listens. Finally it connects to every other visible socket. If any answers, it withdraws:
 * the lock is held. Each process shows itself before it looks, so of two at least one sees the other. Both may
 * withdraw; both never hold the lock.
 *
 * On a file system without sockets (some shared mounts) the directory of sockets is in the system's temporary
 * directory, under a name derived from the lock's real path. It then excludes only processes that share both. Neither
 * form excludes two machines over one network file system from each other.
 *
 * A process without write permission there cannot take the lock but can still query it (`isHeld`): a connection needs
 * no writable file system. A query excludes no other process.
 */
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import type { Server } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Deferred } from '../base/deferred.ts';
import { SocketPlace } from './socket-place.ts';

/** Thrown by `takeLock` when a living process holds the lock. */
export class HeldElsewhere extends Error {
  override readonly name = 'HeldElsewhere';
}

/** A lock that this process holds. */
export interface HeldLock {
  release(): Promise<void>;
}

const unsupported = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EPERM', 'EINVAL']);
const preparing = '.new';

/** Takes the lock named by a path. Rejects with `HeldElsewhere`, or with the system's error. */
export async function takeLock(path: string): Promise<HeldLock> {
  await fs.mkdir(path, { recursive: true, mode: 0o700 });
  try {
    return await takeLockAt(path);
  } catch (error) {
    if (!hasCode(error, unsupported)) throw error;
    return takeLockAt(await substituteOf(path));
  }
}

/**
 * Whether a living process holds the lock named by a path or is taking it: a socket in its directory answers. Writes
 * nothing. Rejects with the system's error if the directory cannot be read.
 */
export async function isHeld(path: string): Promise<boolean> {
  if (!(await exists(path))) return false;
  const substitute = await substituteNameOf(path);
  return (await isHeldAt(path)) || ((await exists(substitute)) && (await isHeldAt(substitute)));
}

async function isHeldAt(directory: string): Promise<boolean> {
  const place = await SocketPlace.open(directory);
  try {
    for (const name of await fs.readdir(directory)) {
      if (await answers(place.pathOf(name))) return true;
    }
    return false;
  } finally {
    await place.close();
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await fs.stat(path);
    return true;
  } catch (error) {
    if (hasCode(error, new Set(['ENOENT']))) return false;
    throw error;
  }
}

/** The directory that replaces a lock's own on a file system without sockets. Created if it is absent. */
export async function substituteOf(path: string): Promise<string> {
  const directory = await substituteNameOf(path);
  await fs.mkdir(directory, { recursive: true, mode: 0o700 });
  return directory;
}

async function substituteNameOf(path: string): Promise<string> {
  const name = createHash('sha256')
    .update(await fs.realpath(path))
    .digest('hex')
    .slice(0, 32);
  return join(tmpdir(), `lockstep-lock-${name}`);
}

/** Takes the lock whose sockets are in `directory`. */
export async function takeLockAt(directory: string): Promise<HeldLock> {
  const place = await SocketPlace.open(directory);
  const name = randomBytes(8).toString('hex');
  let server: Server | undefined;
  try {
    server = await listenOn(place.pathOf(`${name}${preparing}`));
    await show(directory, name);
    const gone = await namesOfTheDead(place, name);
    await Promise.all(gone.map((dead) => fs.rm(join(directory, dead), { force: true })));
    return new HeldSocket(place, server, name);
  } catch (error) {
    if (server !== undefined) await new HeldSocket(place, server, name).release();
    else await place.close();
    throw error;
  }
}

/** Makes a listening socket visible. The current holder may have removed its name. */
async function show(directory: string, name: string): Promise<void> {
  try {
    await fs.rename(join(directory, `${name}${preparing}`), join(directory, name));
  } catch (error) {
    if (hasCode(error, new Set(['ENOENT']))) throw new HeldElsewhere(`socket ${name} was taken away`);
    throw error;
  }
}

/** The other names in the directory, none of which answers. Rejects with `HeldElsewhere` if one does. */
async function namesOfTheDead(place: SocketPlace, ownName: string): Promise<readonly string[]> {
  const names = (await fs.readdir(place.directory)).filter((name) => name !== ownName);
  for (const name of names) {
    // A socket that is not visible yet checks this one when it becomes visible. Its name is removed with those of the
    // dead.
    if (name.endsWith(preparing)) continue;
    if (await answers(place.pathOf(name))) throw new HeldElsewhere(`socket ${name} answers`);
  }
  return names;
}

class HeldSocket implements HeldLock {
  readonly #place: SocketPlace;
  readonly #server: Server;
  readonly #name: string;
  #released: Promise<void> | undefined;

  constructor(place: SocketPlace, server: Server, name: string) {
    this.#place = place;
    this.#server = server;
    this.#name = name;
  }

  release(): Promise<void> {
    this.#released ??= this.#release();
    return this.#released;
  }

  async #release(): Promise<void> {
    await fs.rm(join(this.#place.directory, this.#name), { force: true });
    const closed = new Deferred<void>();
    this.#server.close(() => closed.resolve());
    await closed.promise;
    await this.#place.close();
  }
}

async function listenOn(path: string): Promise<Server> {
  const listening = new Deferred<void>();
  const server = createServer((socket) => socket.destroy());
  // Once it listens, an error in accepting a connection leaves the socket open and loses nothing.
  server.on('error', (error) => listening.reject(error));
  server.listen(path, () => listening.resolve());
  server.unref();
  await listening.promise;
  return server;
}

/** Whether a process listens there, or may listen there. */
async function answers(path: string): Promise<boolean> {
  const outcome = new Deferred<boolean>();
  const socket = connect(path);
  socket.on('connect', () => outcome.resolve(true));
  socket.on('error', (error) => outcome.resolve(!hasCode(error, new Set(['ECONNREFUSED', 'ENOENT']))));
  try {
    return await outcome.promise;
  } finally {
    socket.destroy();
  }
}

function hasCode(error: unknown, codes: ReadonlySet<string>): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.has(error.code);
}
