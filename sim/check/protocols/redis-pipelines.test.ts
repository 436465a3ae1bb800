import { expect, it } from 'vitest';

import { levelReach } from '../../evidence/level-reach.ts';
import type { PipelineCommand } from '../../evidence/redis-pipelines.ts';
import { pipelineCommands } from '../../evidence/redis-pipelines.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { checkRedisPipelines } from './redis-pipelines.ts';

const usual = levelReach({});

/** What a server does wrong with a command outside MULTI: it drops a SET, or carries it out and says no. */
type Wrong = (command: PipelineCommand, index: number) => 'not' | 'refuses' | 'denies';

/** A server of one thread, and what it does wrong. */
class Server {
  readonly values = new Map<string, number>();

  readonly #wrong: Wrong;

  constructor(wrong: Wrong = () => 'not') {
    this.#wrong = wrong;
  }

  /** The replies to a pipeline. */
  answer(commands: readonly PipelineCommand[]): readonly string[] {
    const replies: string[] = [];
    let queued: string[] | undefined;
    for (const [index, command] of commands.entries()) {
      if (command.kind === 'multi') {
        queued = [];
        replies.push('+OK');
      } else if (command.kind === 'exec') {
        replies.push(`*${JSON.stringify(queued)}`);
        queued = undefined;
      } else if (queued !== undefined) {
        queued.push(this.#run(command));
        replies.push('+QUEUED');
      } else if (command.kind === 'set' && this.#wrong(command, index) !== 'not') {
        if (this.#wrong(command, index) === 'denies') this.#run(command);
        replies.push(this.#wrong(command, index) === 'denies' ? '-OVERLOADED no room' : '+OK');
      } else replies.push(this.#run(command));
    }
    return replies;
  }

  #run({ kind, keys, values }: PipelineCommand): string {
    const [key = ''] = keys;
    const [value = 0] = values;
    const before = this.values.get(key);
    const old = before === undefined ? 'nil' : `=${before}`;
    const put = (): void => void keys.forEach((one, at) => this.values.set(one, values[at] ?? 0));
    switch (kind) {
      case 'get':
        return old;
      case 'mget':
        return `*${JSON.stringify(keys.map((one) => (this.values.has(one) ? `=${this.values.get(one)}` : 'nil')))}`;
      case 'set-nx':
      case 'set-xx':
        if ((before === undefined) !== (kind === 'set-nx')) return 'nil';
        put();
        return '+OK';
      case 'set-get':
      case 'getset':
        put();
        return old;
      case 'getdel':
        this.values.delete(key);
        return old;
      case 'incr':
        this.values.set(key, (before ?? 0) + 1);
        return `:${(before ?? 0) + 1}`;
      case 'del':
        return this.values.delete(key) ? ':1' : ':0';
      case 'expire':
        return before === undefined ? ':0' : ':1';
      default:
        this.values.set(key, value);
        put();
        return '+OK';
    }
  }
}

function recordsOf(server: Server, count: number): readonly RedisRecord[] {
  return Array.from({ length: count }, (_, index): RedisRecord => {
    const about = { id: `q${index}`, amount: (index + 1) * 7_654_321 };
    const replies = server.answer(pipelineCommands(about));
    const at = index * 1_000;
    return {
      ...about,
      ...{
        kind: 'pipeline',
        client: 'r0',
        node: 'n1',
        datacenter: 'dc1',
        key: 0,
        other: 0,
        outcome: 'ok',
        reason: '',
      },
      ...{ invokedUs: at, completedUs: at + 500, counted: undefined, balances: [], found: undefined },
      replies,
      repliedUs: replies.map(() => at + 500),
      final: false,
    };
  });
}

it('one command after another keeps every promise', () => {
  const report = checkRedisPipelines(recordsOf(new Server(), 120), usual);
  expect(report.reasons).toEqual([]);
  expect(report.checked).toBeGreaterThan(3_000);
});

it('an acknowledged value that is not there is noticed', () => {
  const { reasons } = checkRedisPipelines(
    recordsOf(new Server((_, index) => (index === 5 ? 'refuses' : 'not')), 60),
    usual,
  );
  expect(reasons.join()).toContain('had replaced that of');
});

it('a level of one copy excuses a value that is not there, and no value replaced twice', () => {
  const records = recordsOf(new Server((_, index) => (index === 5 ? 'refuses' : 'not')), 60);
  expect(checkRedisPipelines(records, levelReach({ write_consistency: 'DC_ONE' })).reasons).toEqual([]);
});

it('a value whose writer was told no, and that is shown, is noticed', () => {
  const { reasons } = checkRedisPipelines(
    recordsOf(new Server((_, index) => (index === 5 ? 'denies' : 'not')), 60),
    usual,
  );
  expect(reasons.join()).toContain('it was refused');
});

it('a reply of another command is noticed', () => {
  const records = recordsOf(new Server(), 60).map((record) => ({
    ...record,
    replies: [...record.replies.slice(1), record.replies[0] ?? ''],
  }));
  expect(checkRedisPipelines(records, usual).reasons.join()).toContain('was answered');
});

it('a value of unknown outcome may be there or not', () => {
  const records = recordsOf(new Server((_, index) => (index === 5 ? 'denies' : 'not')), 60).map((record) => ({
    ...record,
    replies: record.replies.map((reply) => reply.replace('-OVERLOADED', '-NOQUORUM')),
  }));
  expect(checkRedisPipelines(records, usual).reasons).toEqual([]);
});

it('two increments of one value are noticed', () => {
  const records = recordsOf(new Server(), 80);
  const twice = records.map((record, index) => ({
    ...record,
    id: record.id,
    completedUs: index === 79 ? 1e9 : 1e8,
  }));
  const seen = twice.map((record) => ({ ...record, invokedUs: 0, repliedUs: record.replies.map(() => 1e8) }));
  // All at once, nothing precedes anything between pipelines: only a value replaced twice is left to notice.
  expect(checkRedisPipelines(seen, usual).reasons).toEqual([]);
  const at = seen.findIndex(
    ({ replies }, index) => index > 10 && replies.some((reply) => /^:\d{4,}$/.test(reply)),
  );
  const copy = seen.map((record, index) =>
    index === at
      ? {
          ...record,
          replies: record.replies.map((reply) => reply.replace(/^:(\d{4,})$/, (_, n) => `:${Number(n) - 1}`)),
        }
      : record,
  );
  expect(at).toBeGreaterThan(0);
  expect(checkRedisPipelines(copy, usual).ok).toBe(false);
});
