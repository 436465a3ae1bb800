import { expect, it } from 'vitest';

import { settle } from '../../api/testing/test-io.fixture.ts';
import type { NodeId } from '../../base/ids.ts';
import { LockstepError } from '../../base/errors.ts';
import { MemberFileWriter } from './member-file-writer.ts';
import type { MemberRecord } from './member-record.ts';
import { expectedRecord } from './settings.ts';

/** A member file that knows whom it names, and whose disk may fail. */
class File {
  saves = 0;
  fails = false;
  /** The records of each save. */
  saved: (readonly MemberRecord[])[] = [];
  readonly #named = new Set<NodeId>();

  depart(): void {
    throw new Error('no node leaves');
  }

  lacksOneOf(records: readonly MemberRecord[]): boolean {
    return records.some(({ node, generation }) => generation > 0 && !this.#named.has(node));
  }

  async save(records: readonly MemberRecord[]): Promise<void> {
    this.saves += 1;
    await settle(1);
    if (this.fails) throw new LockstepError('StorageFailed', 'a disk that fails');
    this.saved.push(records);
    for (const { node } of records) this.#named.add(node);
  }
}

function fail(error: unknown): never {
  throw error;
}

function writerOf(file: File, records: readonly MemberRecord[]): MemberFileWriter {
  const spawn = (_: string, task: () => Promise<void>): void => void task().catch(fail);
  const log = { enabled: () => true, event: () => undefined };
  return new MemberFileWriter({ log, spawn }, file, () => [...records]);
}

/** A member of that generation; 0: no member knows it. */
function recordOf(name: string, generation: number): MemberRecord {
  const place = { node: name as NodeId, datacenter: 'dc1', rack: 'r1', tokens: [] };
  return { ...expectedRecord({ ...place, address: `${name}:1` }), generation };
}

it('a member is saved as soon as it is heard of, and once', async () => {
  const file = new File();
  const records = [recordOf('n2', 0)];
  const writer = writerOf(file, records);
  writer.look(5);
  expect(file.saves).toBe(0);
  records[0] = recordOf('n2', 1);
  for (const nowUs of [200_000, 200_000, 400_000]) {
    writer.look(nowUs);
    await writer.idle();
    await settle();
  }
  expect(file.saves).toBe(1);
});

it('a member that becomes known during a save is saved behind it', async () => {
  const file = new File();
  const records = [recordOf('n2', 1)];
  const writer = writerOf(file, records);
  writer.look(5);
  records.push(recordOf('n3', 1));
  writer.look(6);
  await writer.idle();
  expect([file.saves, file.lacksOneOf(records)]).toEqual([2, false]);
});

it('a save that failed is made again, a second later', async () => {
  const file = new File();
  file.fails = true;
  const writer = writerOf(file, [recordOf('n2', 1)]);
  for (const nowUs of [100_000, 200_000, 1_099_999, 1_100_000]) {
    writer.look(nowUs);
    await settle();
  }
  expect(file.saves).toBe(2);
});

it('is idle once no save is under way, whoever has begun it', async () => {
  const file = new File();
  const writer = writerOf(file, [recordOf('n2', 1)]);
  const over: string[] = [];
  const first = writer.save().then(() => over.push('first'));
  const second = writer.save().then(() => over.push('second'));
  const idle = writer.idle().then(() => over.push('idle'));
  await Promise.all([first, second, idle]);
  expect(over.slice(0, 2).sort()).toEqual(['first', 'second']);
  file.fails = true;
  const failed = writer.save();
  await writer.idle();
  expect(await failed).toBe(false);
});

it('a step that does not stand once it is saved is taken back from the file', async () => {
  const file = new File();
  const records = [recordOf('n2', 1)];
  const writer = writerOf(file, records);
  const step = recordOf('n3', 1);
  for (const stands of [true, false]) {
    records.push(step);
    file.saved = [];
    const taken = await writer.saveStep(
      () => stands,
      (isTaken) => {
        if (!isTaken) records.pop();
      },
    );
    expect(taken).toBe(stands);
    expect(file.saved.at(-1)).toEqual(records);
    if (stands) records.pop();
  }
  file.fails = true;
  expect(
    await writer.saveStep(
      () => true,
      (isTaken) => expect(isTaken).toBe(false),
    ),
  ).toBe(false);
});
