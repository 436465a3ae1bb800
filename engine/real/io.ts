/** Bundles the machine's ports for the entry point. */
import { onFailedAssertion } from '../base/assert.ts';
import { onProgramError } from '../base/errors.ts';
import type { Checks, Io } from '../io/io.ts';
import type { LogLevel } from '../io/log.ts';
import { realClock } from './clock.ts';
import { createRealDisk } from './disk.ts';
import { createRealHttp } from './http.ts';
import { createRealLog } from './log.ts';
import { RealNetwork } from './network.ts';
import { RealRandom } from './random.ts';
import type { TlsIdentity } from './tls.ts';
import { createRealTracing } from './tracing.ts';
import { UnreadAnswers } from './unread-answers.ts';
import { createRealWasmTools } from './wasm-tools.ts';

/** Options of `createRealIo`. */
export interface RealIoOptions {
  /** Created with its ancestors if absent. */
  readonly dataDirectory: string;
  /** Base of relative paths in the configuration; by default the working directory. */
  readonly configDirectory?: string;
  readonly logLevel: LogLevel;
  /** Certificates for client and peer connections; without them the connections are plain text. */
  readonly tls?: { readonly clients?: TlsIdentity; readonly peers?: TlsIdentity };
  /**
   * Most bytes of answers that all clients together may leave unread; above it the clients that hold most are
   * disconnected. No bound by default.
   */
  readonly unreadBytesMax?: number;
  /** Which assertions run; `cheap` by default. `all` costs time that grows with the data. */
  readonly checks?: Checks;
  /**
   * Called when an assertion of the engine has failed while a node runs, after it was logged and counted: it should end
   * the process at once. By default the failure becomes an uncaught exception.
   */
  readonly onFailedAssertion?: (error: Error) => void;
  /** The node's name, in every line of the log. */
  readonly node: string;
}

/** Makes the ports. Throws `DiskError` if the data directory cannot be created. */
export function createRealIo(options: RealIoOptions): Io {
  const log = createRealLog({ level: options.logLevel, node: options.node });
  const { clients, peers } = options.tls ?? {};
  const unread = new UnreadAnswers(options.unreadBytesMax ?? Infinity, log);
  let failedTasks = 0;
  let failedAssertions = 0;
  const end = options.onFailedAssertion ?? endByUncaughtException;
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
    tracing: createRealTracing(log),
    spawn: (name, task) => {
      task().catch((error: unknown) => {
        failedTasks += 1;
        log.event('error', 'task.failed', { task: name, error: descriptionOf(error) });
      });
    },
    failedTasks: () => failedTasks,
    checks: options.checks ?? 'cheap',
    watchAssertions: () => {
      const unwatchAssertions = onFailedAssertion((error) => {
        failedAssertions += 1;
        log.event('error', 'assertion.failed', { detail: error.message, error: descriptionOf(error) });
        end(error);
      });
      const unwatchErrors = onProgramError((error) => {
        log.event('error', 'program.failed', { detail: error.message, error: descriptionOf(error) });
      });
      return () => {
        unwatchAssertions();
        unwatchErrors();
      };
    },
    failedAssertions: () => failedAssertions,
    secured: { clients: clients !== undefined, peers: peers !== undefined },
    failedHandshakes: () => ({
      clients: clients?.failedHandshakes ?? 0,
      peers: peers?.failedHandshakes ?? 0,
    }),
    residentBytes: () => {
      try {
        residentBytes = process.memoryUsage.rss();
      } catch (error) {
        // The value is read from a file. Without a free descriptor the last known value is returned.
        const code = error instanceof Error && 'code' in error ? error.code : undefined;
        if (code !== 'EMFILE' && code !== 'ENFILE') throw error;
      }
      return residentBytes;
    },
  };
}

/** No code above the assertion may catch it, so it is thrown again on a stack of its own. */
function endByUncaughtException(error: Error): void {
  process.nextTick(() => {
    throw error;
  });
}

function descriptionOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
