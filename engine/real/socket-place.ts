/** Unix sockets in a directory whose path may be longer than a socket's path may be. */
import fs from 'node:fs/promises';
import { join } from 'node:path';

/** Longest socket path that every system takes; longer ones are cut off by some, without a word. */
const socketPathBytesMax = 100;

/**
 * A directory of sockets, and short paths into it. On Linux those go through its open descriptor, so a data
 * directory may have a path of any length; elsewhere a long path counts as a file system without sockets.
 */
export class SocketPlace {
  readonly directory: string;
  readonly #handle: fs.FileHandle;

  private constructor(directory: string, handle: fs.FileHandle) {
    this.directory = directory;
    this.#handle = handle;
  }

  /** Rejects with the system's error. */
  static async open(directory: string): Promise<SocketPlace> {
    return new SocketPlace(directory, await fs.open(directory, 'r'));
  }

  /** Valid until `close`. Throws an error with the code `ENOTSUP` where the path would be too long. */
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
