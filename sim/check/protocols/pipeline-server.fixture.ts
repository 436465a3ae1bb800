/** A Redis server of one thread for tests of checks: it answers pipelines as a correct server does, or with one fault. */
import type { PipelineCommand } from '../../evidence/redis-pipelines.ts';
import { pipelineCommands } from '../../evidence/redis-pipelines.ts';
import type { RedisRecord } from '../../evidence/redis.ts';

/** What a server does wrong with a command outside MULTI: it drops a SET, or carries it out and says no. */
export type Wrong = (command: PipelineCommand, index: number) => 'not' | 'refuses' | 'denies';

/** A server of one thread, and what it does wrong. */
export class Server {
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

/** `count` pipelines of one client, a millisecond apart, as the server answers them half a millisecond later. */
export function recordsOf(server: Server, count: number): readonly RedisRecord[] {
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
