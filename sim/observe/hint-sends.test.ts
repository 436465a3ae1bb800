import { expect, it } from 'vitest';

import type { PackedKey } from '../../engine/base/object-key.ts';
import type { StoredHint } from './hint-sends.ts';
import { HintSends } from './hint-sends.ts';

const key = 'k' as PackedKey;
const object = Buffer.from('object');

class Bench {
  nowUs = 0;
  stored: StoredHint | undefined = { seq: 1, object };
  readonly sends: HintSends;

  constructor(isForgetful = false, handsOver = false) {
    this.sends = new HintSends({
      nowUs: () => this.nowUs,
      patienceUs: 10,
      answerUs: 5,
      hintOf: () => this.stored,
      isForgetful: () => isForgetful,
      handsOver: () => handsOver,
    });
  }

  /** Sends the object and has it confirmed. */
  send(bytes = object, life = 1): void {
    const hint = this.sends.sent('n1', life, 'n2', key, bytes);
    if (hint !== undefined) this.sends.taken(hint, this.nowUs);
  }
}

it('a hint that is sent again and again after its replica has confirmed it', () => {
  const bench = new Bench();
  for (const nowUs of [0, 20, 40, 60]) {
    bench.nowUs = nowUs;
    bench.send();
  }
  expect(bench.sends.records).toEqual({
    taken: 1,
    repeated: [{ atUs: 40, text: expect.stringContaining('n1 sends n2 its hint of') }],
  });
});

it('also if the record of its removal is on the disk: the node may not know', () => {
  const bench = new Bench();
  bench.send();
  bench.stored = undefined;
  for (const nowUs of [20, 40]) {
    bench.nowUs = nowUs;
    bench.send();
  }
  expect(bench.sends.records.repeated.length).toBe(1);
});

it('what is under way, unconfirmed, another hint or object, or of another incarnation is no repetition', () => {
  const soon = new Bench();
  for (let count = 0; count < 9; count++) soon.send();
  const silent = new Bench();
  for (const nowUs of [0, 20, 40, 60]) {
    silent.nowUs = nowUs;
    silent.sends.sent('n1', 1, 'n2', key, object);
  }
  const rewritten = new Bench();
  const restarted = new Bench();
  const other = new Bench();
  for (const nowUs of [0, 20, 40, 60]) {
    rewritten.nowUs = restarted.nowUs = other.nowUs = nowUs;
    rewritten.stored = { seq: nowUs, object };
    rewritten.send();
    restarted.send(object, nowUs);
    other.send(Buffer.from('other'));
  }
  for (const { sends } of [soon, silent, rewritten, restarted, other])
    expect(sends.records.repeated).toEqual([]);
});

it('a read repair with the same bytes does not deliver a hint whose own messages are lost', () => {
  const bench = new Bench();
  bench.send();
  for (const nowUs of [20, 40, 60]) {
    bench.nowUs = nowUs;
    bench.sends.sent('n1', 1, 'n2', key, object);
  }
  bench.nowUs = 80;
  bench.send();
  expect(bench.sends.records).toEqual({ taken: 1, repeated: [] });
});

it('an answer that its node has ceased to wait for is none', () => {
  const bench = new Bench();
  bench.send();
  for (const nowUs of [20, 40, 60]) {
    const hint = bench.sends.sent('n1', 1, 'n2', key, object);
    bench.nowUs = nowUs;
    if (hint !== undefined) bench.sends.taken(hint, nowUs - 6);
  }
  bench.send();
  expect(bench.sends.records.repeated).toEqual([]);
});

it('a replica whose disk may forget gets it as often as it likes', () => {
  const bench = new Bench(true);
  for (const nowUs of [0, 20, 40, 60]) {
    bench.nowUs = nowUs;
    bench.send();
  }
  expect(bench.sends.records).toEqual({ taken: 0, repeated: [] });
});

it('not while its node gives copies of keys that it owns no more to their owners', () => {
  const bench = new Bench(false, true);
  for (const nowUs of [0, 20, 40, 60]) {
    bench.nowUs = nowUs;
    bench.send();
  }
  expect(bench.sends.records.repeated).toEqual([]);
});
