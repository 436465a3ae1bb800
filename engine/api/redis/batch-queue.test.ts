import { expect, test } from 'vitest';
import { Deferred } from '../../base/deferred.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { BatchQueue } from './batch-queue.ts';

interface Named {
  readonly name: string;
  readonly keys: readonly PackedKey[];
  readonly isSociable: boolean;
}

function queueOf(keyCountMax = 10): {
  readonly submit: (name: string, keys: string, isSociable?: boolean) => void;
  readonly groups: string[];
  readonly end: (group: string) => Promise<void>;
} {
  const groups: string[] = [];
  const running = new Map<string, Deferred<void>>();
  const io = { spawn: (_: string, task: () => Promise<void>) => void task().catch(() => undefined) };
  const queue = new BatchQueue<Named>(io, keyCountMax, (group) => {
    const name = group.map((one) => one.name).join('+');
    groups.push(name);
    const over = new Deferred<void>();
    running.set(name, over);
    return over.promise;
  });
  return {
    groups,
    submit: (name, keys, isSociable = true) => {
      queue.submit({ name, keys: keys.split(' ') as PackedKey[], isSociable });
    },
    end: async (group) => {
      running.get(group)?.resolve();
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    },
  };
}

test('batches on the same keys take turns, and those that wait together become one group', async () => {
  const { submit, groups, end } = queueOf();
  submit('a', 'x y');
  submit('b', 'y z');
  submit('c', 'z');
  submit('d', 'w');
  submit('e', 'x');
  expect(groups).toEqual(['a', 'd']);
  await end('a');
  expect(groups).toEqual(['a', 'd', 'b+c', 'e']);
});

test('a batch that depends on watched keys has a group to itself, in its turn', async () => {
  const { submit, groups, end } = queueOf();
  submit('a', 'x');
  submit('b', 'x');
  submit('c', 'x', false);
  submit('d', 'x');
  await end('a');
  await end('b');
  await end('c');
  expect(groups).toEqual(['a', 'b', 'c', 'd']);
});

test('a group has a bounded number of keys', async () => {
  const { submit, groups, end } = queueOf(3);
  submit('a', 'x');
  submit('b', 'x y');
  submit('c', 'x z');
  await end('a');
  await end('b');
  expect(groups).toEqual(['a', 'b', 'c']);
});
