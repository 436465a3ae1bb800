/**
 * `session-guarantees` (INV20) over pipelined Redis commands. Each reply belongs to its own command. A read reflects
 * its connection's earlier writes, or a later write of another connection. No client reads a value after a newer one
 * was acknowledged, or nothing after any write was. Each reply is one comparison, and each read another. Skipped:
 * errors, reads after a failed write of the same burst, values of writes of unknown outcome, and reads that the
 * configured levels let miss a write.
 */
import type { LevelReach } from '../../evidence/level-reach.ts';
import { mustSee } from '../../evidence/level-reach.ts';
import type { PageCommand } from '../../evidence/redis-pages.ts';
import { pageCommands } from '../../evidence/redis-pages.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { describeRedis } from '../../evidence/redis.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** Checks every burst of pipelined commands. */
export function checkRedisPages(records: readonly RedisRecord[], reach: LevelReach): CheckReport {
  const tally = new Tally('session-guarantees');
  const bursts = records.filter(({ kind }) => kind === 'page');
  const writes = bursts.flatMap(writesOf);
  for (const record of bursts) {
    if (record.outcome !== 'ok') continue;
    checkBurst(record, reach, tally);
    checkFreshness(record, writes, reach, tally);
  }
  return tally.report();
}

/** A write, and whether it was certainly applied by the end of its burst. */
interface PageWrite {
  readonly record: RedisRecord;
  readonly index: number;
  readonly page: string;
  readonly text: string;
  readonly done: boolean;
}

function writesOf(record: RedisRecord): readonly PageWrite[] {
  return pageCommands(record).flatMap(({ kind, page, text }, index) => {
    const done = record.outcome === 'ok' && record.replies[index] === '+OK';
    return kind === 'write' ? [{ record, index, page, text, done }] : [];
  });
}

/** The value read had not been overwritten before the burst began. */
function checkFreshness(
  record: RedisRecord,
  writes: readonly PageWrite[],
  reach: LevelReach,
  tally: Tally,
): void {
  for (const [index, { kind, page }] of pageCommands(record).entries()) {
    const reply = record.replies[index] ?? '';
    if (kind !== 'read' || reply.startsWith('-')) continue;
    const before = writes.filter(
      (write) =>
        write.page === page &&
        write.record.completedUs < record.invokedUs &&
        mustSee(reach, write.record, record),
    );
    const found = writes.find((write) => write.page === page && `=${write.text}` === reply);
    if (found?.done === false) {
      tally.skip();
      continue;
    }
    const later = before.find((write) => write.done && (found === undefined || isAfter(write, found)));
    tally.compare(
      reply === 'nil' ? later === undefined : found !== undefined && later === undefined,
      record.completedUs,
      () => {
        const over =
          later === undefined
            ? 'which no client wrote'
            : `though ${describeRedis(later.record)} wrote ${later.text}`;
        return `${page} read as ${reply}, ${over}: command ${index} of ${describeRedis(record)}`;
      },
    );
  }
}

function isAfter(write: PageWrite, found: PageWrite): boolean {
  if (write.record === found.record) return write.index > found.index;
  return write.record.invokedUs > found.record.completedUs;
}

function checkBurst(record: RedisRecord, { meets }: LevelReach, tally: Tally): void {
  const commands = pageCommands(record);
  /** By page: this burst's last write; undefined if its outcome is unknown. */
  const written = new Map<string, string | undefined>();
  for (const [index, command] of commands.entries()) {
    const reply = record.replies[index] ?? 'nothing at all';
    if (reply.startsWith('-') || (command.kind === 'read' && !meets)) {
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
  // Another client may have written since, but none of this burst's earlier values may return.
  return reply === `=${last}` || (reply.startsWith(`=${page} `) && !reply.startsWith(`=${page} ${ours}`));
}
