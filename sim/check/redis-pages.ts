/**
 * INV20 over what Redis clients pipelined: each reply is that of its own command, and a read sees what its connection wrote
 * before it, or what another wrote since. Each reply is one comparison. Skipped: errors, and reads behind a write that was one.
 */
import type { PageCommand } from '../history/redis-pages.ts';
import { pageCommands } from '../history/redis-pages.ts';
import type { RedisRecord } from '../history/redis.ts';
import { describeRedis } from '../history/redis.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

export function checkRedisPages(records: readonly RedisRecord[]): CheckReport {
  const tally = new Tally('INV20');
  for (const record of records) {
    if (record.kind !== 'page' || record.outcome !== 'ok') continue;
    checkBurst(record, tally);
  }
  return tally.report();
}

function checkBurst(record: RedisRecord, tally: Tally): void {
  const commands = pageCommands(record);
  /** By page: what this burst wrote last; undefined when nobody knows. */
  const written = new Map<string, string | undefined>();
  for (const [index, command] of commands.entries()) {
    const reply = record.replies[index] ?? 'nothing at all';
    if (reply.startsWith('-')) {
      if (command.kind === 'write') written.set(command.page, undefined);
      tally.skip();
      continue;
    }
    tally.compare(isOwn(command, reply, written, `${record.id}.`), record.completedUs, () => {
      return `${command.kind} of ${command.page} was answered ${reply}, command ${index} of ${describeRedis(record)}`;
    });
    if (command.kind === 'write') written.set(command.page, command.text);
  }
}

function isOwn(
  { kind, page, text }: PageCommand,
  reply: string,
  written: ReadonlyMap<string, string | undefined>,
  ours: string,
): boolean {
  if (kind === 'write') return reply === '+OK';
  if (kind === 'echo') return reply === `=${text}`;
  if (!written.has(page)) return reply === 'nil' || reply.startsWith(`=${page} `);
  const last = written.get(page);
  if (last === undefined) return reply === 'nil' || reply.startsWith(`=${page} `);
  // Another client may have written since, but none of this burst's earlier values is back.
  return reply === `=${last}` || (reply.startsWith(`=${page} `) && !reply.startsWith(`=${page} ${ours}`));
}
