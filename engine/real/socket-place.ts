/** Addresses Unix sockets in a directory whose path may exceed the length limit of a socket's path. */
import fs from 'node:fs/promises';
import { join } from 'node:path';

/** Longest socket path that every system accepts, in bytes; some systems truncate longer ones silently. */
const socketPathBytesMax = 100;

/**
 * A directory of sockets, with short paths into it. On Linux the paths go through the directory's open descriptor, so
 * the data directory's path may have any length. Elsewhere a long path counts as a file system without sockets.
 */
export class SocketPlace {
  readonly directory: string;
  readonly #handle: fs.FileHandle;

  private constructor(directory: string, handle: fs.FileHandle) {
    this.directory = directory;
    this.#handle = handle;
  }

  /** Opens the directory. Rejects with the system's error. */
  static async open(directory: string): Promise<SocketPlace> {
    return new SocketPlace(directory, await fs.open(directory, 'r'));
  }

  /**
   * The path of a socket, valid until `close`. Throws an error with the code `ENOTSUP` if the path would be too long.
   */
  pathOf(name: string): string {
    if (process.platform === 'linux') return `/proc/self/fd/${this.#handle.fd}/${name}`;
    const path = join(this.directory, name);
    if (Buffer.byteLength(path) <= socketPathBytesMax) return path;
    throw Object.assign(new Error(`a socket path of more than ${socketPathBytesMax} bytes`), {
      code: 'ENOTSUP',
    });
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}
