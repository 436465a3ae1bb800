/**
 * Commands that wait for what a cluster is to become: they ask one node again and again, and tell on standard error how far
 * it is, in one line that is written anew on a terminal, and elsewhere in a line for whatever is new.
 */
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';

import { parseDurationMs } from '../base/durations.ts';
import type { ClusterView } from '../node/node.ts';
import { clusterOf, moveLines, silentIn } from './cluster-view.ts';
import { UsageError } from './exit-codes.ts';
import type { NodeClient } from './node-client.ts';
import { NodeRefusal } from './node-client.ts';

const lookMs = 250;
const timeoutMsMax = 86_400_000;
const timeoutMsDefault = 600_000;

export interface WaitingOptions {
  readonly wait?: boolean;
  /** Milliseconds. */
  readonly timeout?: number;
}

/** `what`: until when. */
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

/** What the node said last, or why it could not be asked. */
export interface ClusterSample {
  readonly view: ClusterView | undefined;
  readonly error: Error | undefined;
}

/** Whether it is to be waited for. Throws `UsageError` for a time without that. */
export function isWaiting({ wait, timeout }: WaitingOptions): boolean {
  if (wait !== true && timeout !== undefined) throw new UsageError('--timeout goes with --wait');
  return wait === true;
}

/**
 * Resolves once it is `done`. Rejects with what `done` throws; at once when the node refuses for good; with what the cluster
 * still waits for when the time is up.
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

/** The node starts, stops, or has too much to do; not so: who asks has no right to, or what answers is no node. */
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

/** Where a person watches: one line, written anew. Elsewhere: a line for whatever is new. */
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

  /** Takes the line away. */
  end(): void {
    if (!this.#stream.isTTY || this.#last === '') return;
    this.#stream.cursorTo(0);
    this.#stream.clearLine(0);
  }
}
