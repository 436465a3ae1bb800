/** The machine's doors in one bundle, for the entry point. */
import type { Io } from '../io/io.ts';
import type { LogLevel } from '../io/log.ts';
import { realClock } from './clock.ts';
import { createRealDisk } from './disk.ts';
import { createRealHttp } from './http.ts';
import { createRealLog } from './log.ts';
import { RealNetwork } from './network.ts';
import { RealRandom } from './random.ts';
import type { TlsIdentity } from './tls.ts';
import { UnreadAnswers } from './unread-answers.ts';
import { createRealWasmTools } from './wasm-tools.ts';

export interface RealIoOptions {
  /** Made, with the directories above it, when it is not there. */
  readonly dataDirectory: string;
  /** What relative paths in the configuration are relative to; the working directory when left out. */
  readonly configDirectory?: string;
  readonly logLevel: LogLevel;
  /** What clients and peers are shown; without, what is said is plain. */
  readonly tls?: { readonly clients?: TlsIdentity; readonly peers?: TlsIdentity };
  /** Bytes of answers that all clients together may leave unread; those that hold most are cut off. No bound when left out. */
  readonly unreadBytesMax?: number;
  /** The node's name, for the log. */
  readonly node: string;
}

/** Throws `DiskError` when the data directory cannot be made. */
export function createRealIo(options: RealIoOptions): Io {
  const log = createRealLog({ level: options.logLevel, node: options.node });
  const { clients, peers } = options.tls ?? {};
  const unread = new UnreadAnswers(options.unreadBytesMax ?? Infinity, log);
  let failedTasks = 0;
  let residentBytes = process.memoryUsage.rss();
  return {
    clock: realClock,
    network: new RealNetwork(clients, unread),
    peerNetwork: new RealNetwork(peers),
    disk: createRealDisk(options.dataDirectory),
    random: new RealRandom(),
    log,
    http: createRealHttp(log, clients, unread),
    wasm: createRealWasmTools(options.configDirectory ?? '.'),
    spawn: (name, task) => {
      task().catch((error: unknown) => {
        failedTasks += 1;
        log.event('error', 'task.failed', { task: name, error: storyOf(error) });
      });
    },
    failedTasks: () => failedTasks,
    secured: { clients: clients !== undefined, peers: peers !== undefined },
    failedHandshakes: () => ({
      clients: clients?.failedHandshakes ?? 0,
      peers: peers?.failedHandshakes ?? 0,
    }),
    residentBytes: () => {
      try {
        residentBytes = process.memoryUsage.rss();
      } catch (error) {
        // It is read from a file, and there may be no descriptor left for it: what it was a moment ago.
        const code = error instanceof Error && 'code' in error ? error.code : undefined;
        if (code !== 'EMFILE' && code !== 'ENFILE') throw error;
      }
      return residentBytes;
    },
  };
}

function storyOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
