/**
 * The option `--wait`: polls one node until its cluster has reached a state, and reports the progress on stderr. On a
 * terminal the report is one line that is rewritten; elsewhere every change is a new line.
 */
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';

import { parseDurationMs } from '../../base/durations.ts';
import type { ClusterView } from '../../node/node.ts';
import { clusterOf, moveLines, silentIn } from './cluster-view.ts';
import { UsageError } from '../exit-codes.ts';
import type { NodeClient } from './node-client.ts';
import { NodeRefusal } from './node-client.ts';

const lookMs = 250;
const timeoutMsMax = 86_400_000;
const timeoutMsDefault = 600_000;

/** The options `--wait` and `--timeout`. */
export interface WaitingOptions {
  readonly wait?: boolean;
  /** Milliseconds. */
  readonly timeout?: number;
}

/** Adds these options to a command. `what` completes the help text "wait …". */
export function withWaiting(command: Command, what: string): Command {
  return command
    .option('--wait', `wait ${what}`)
    .option('--timeout <duration>', 'for how long, at most: 30s, 5m, 1h (10m unless given)', timeoutMs);
}

function timeoutMs(given: string): number {
  const ms = durationMs(given);
  if (ms >= 1 && ms <= timeoutMsMax) return ms;
  throw new InvalidArgumentError('allowed: more than nothing, and at most 24h.');
}

function durationMs(given: string): number {
  try {
    return parseDurationMs(given);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

/** One answer of the node, or the error of the request. */
export interface ClusterSample {
  readonly view: ClusterView | undefined;
  readonly error: Error | undefined;
}

/** Whether the command waits. Throws `UsageError` for `--timeout` without `--wait`. */
export function isWaiting({ wait, timeout }: WaitingOptions): boolean {
  if (wait !== true && timeout !== undefined) throw new UsageError('--timeout goes with --wait');
  return wait === true;
}

/**
 * Asks the node four times a second, and resolves once `done` returns true. Rejects with an error that `done` throws,
 * at once if the node refuses for good, and after the timeout (10 minutes by default) with what the cluster still waits
 * for.
 */
export async function waitUntil(
  client: NodeClient,
  { timeout = timeoutMsDefault }: WaitingOptions,
  done: (look: ClusterSample) => boolean,
): Promise<void> {
  const untilMs = Date.now() + timeout;
  const told = new Told(process.stderr);
  try {
    for (;;) {
      const look = await lookAt(client);
      if (done(look)) return;
      const waits = describe(look);
      if (Date.now() >= untilMs) throw new Error(`after ${timeout / 1000} s: ${waits}`);
      told.tell(waits);
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
  } finally {
    told.end();
  }
}

async function lookAt(client: NodeClient): Promise<ClusterSample> {
  try {
    return { view: await clusterOf(client), error: undefined };
  } catch (caught) {
    if (!(caught instanceof Error) || !mayPass(caught)) throw caught;
    return { view: undefined, error: caught };
  }
}

/** Whether the error may pass: the node starts, stops or is overloaded. Missing rights, or no JSON, will not pass. */
function mayPass(error: Error): boolean {
  if (error instanceof NodeRefusal) return error.status >= 500;
  return !(error.cause instanceof SyntaxError);
}

function describe({ view, error }: ClusterSample): string {
  if (view === undefined) return error?.message ?? 'nobody answers';
  const silent = silentIn(view);
  const others = view.members.filter(({ node, state, move }) => {
    return state !== 'NORMAL' && move === 'none' && !silent.includes(node);
  });
  return [
    ...(silent.length > 0 ? [`silent: ${silent.join(', ')}`] : []),
    ...others.map(({ node, state }) => `${node} is ${state}`),
    ...(view.store === 'open' ? [] : [`the store of ${view.node} is ${view.store}`]),
    ...moveLines(view),
  ].join('; ');
}

/** Reports the progress: on a terminal one line that is rewritten, elsewhere a line for every change. */
class Told {
  readonly #stream: NodeJS.WriteStream;
  #last = '';

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  tell(line: string): void {
    if (this.#stream.isTTY) {
      this.end();
      this.#stream.write(line.slice(0, Math.max(0, this.#stream.columns - 1)));
    } else if (line !== this.#last) {
      this.#stream.write(`${line}\n`);
    }
    this.#last = line;
  }

  /** Clears the line on a terminal. */
  end(): void {
    if (!this.#stream.isTTY || this.#last === '') return;
    this.#stream.cursorTo(0);
    this.#stream.clearLine(0);
  }
}
