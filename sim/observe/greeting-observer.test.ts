import { expect, it } from 'vitest';

import { ByteWriter } from '../../engine/base/bytes.ts';
import type { ByteString } from '../../engine/base/ids.ts';
import { GreetingObserver } from './greeting-observer.ts';

/** An identity file; its checksum plays no part here. */
function identityFile(generation: number): Buffer {
  const body = new ByteWriter(16).string('n1' as ByteString).u64(generation);
  return Buffer.concat([Buffer.from('LKNODEID????'), body.finish()]);
}

/** What is recorded of greetings with these incarnation numbers while the disk holds the file. */
function durableAt(file: Buffer | undefined, generations: readonly number[], altered?: string): unknown {
  const observer = new GreetingObserver(
    () => 1,
    () => ({ durableFile: () => file }),
  );
  if (altered !== undefined) observer.altered('n1', altered);
  for (const generation of generations) observer.greeted('n1', 1, generation);
  return observer.records.map(({ generation, durable }) => [generation, durable]);
}

it('a greeting is recorded once, with the number on the disk', () => {
  expect(durableAt(identityFile(7), [7, 7, 8])).toEqual([
    [7, 7],
    [8, 7],
  ]);
});

it('without a durable file the number on the disk is 0', () => {
  expect(durableAt(undefined, [7])).toEqual([[7, 0]]);
  expect(durableAt(Buffer.alloc(0), [7])).toEqual([[7, 0]]);
});

it('nothing is known of a file that a fault altered, or that is none', () => {
  expect(durableAt(identityFile(6), [7], 'identity.new')).toEqual([[7, undefined]]);
  expect(durableAt(Buffer.alloc(14, 0xff), [7])).toEqual([[7, undefined]]);
  expect(durableAt(identityFile(6), [7], 'members')).toEqual([[7, 6]]);
});
