import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { LogLines } from './log-lines.ts';

/** A descriptor that takes as many bytes as the test allows. */
class Sink {
  text = '';
  /** Bytes that it takes before it is busy, or the error that it throws. */
  room: number | string = Infinity;
  readonly #retries: (() => void)[] = [];
  readonly lines = new LogLines({
    write: (bytes) => this.#take(bytes),
    later: (retry) => void this.#retries.push(retry),
    describeLoss: (count) => `lost ${count}\n`,
  });

  get waits(): boolean {
    return this.#retries.length > 0;
  }

  pass(): void {
    for (const retry of this.#retries.splice(0)) retry();
  }

  #take(bytes: Uint8Array): number {
    if (typeof this.room === 'string') throw Object.assign(new Error('full'), { code: this.room });
    if (this.room === 0) throw Object.assign(new Error('busy'), { code: 'EAGAIN' });
    const taken = Buffer.from(bytes).subarray(0, this.room);
    this.room -= taken.length;
    this.text += taken.toString();
    return taken.length;
  }
}

describe('log lines', () => {
  it('are written at once if the system takes them', () => {
    const sink = new Sink();
    sink.lines.write('one\n');
    expect([sink.text, sink.waits]).toEqual(['one\n', false]);
  });

  it('arrive later, whole and in order, if the reader is slow', () => {
    const sink = new Sink();
    sink.room = 6;
    for (const line of ['one\n', 'two\n', 'three\n']) sink.lines.write(line);
    expect(sink.text).toBe('one\ntw');
    sink.pass();
    expect(sink.waits).toBe(true);
    sink.room = 7;
    sink.pass();
    expect(sink.text).toBe('one\ntwo\nthree');
    sink.room = Infinity;
    sink.pass();
    expect([sink.text, sink.waits, sink.lines.lost]).toEqual(['one\ntwo\nthree\n', false, 0]);
  });

  it.each(['ENOSPC', 'EIO', 'EPIPE', 'EBADF'])(
    'are lost and reported, and nothing else happens, at %s',
    (code) => {
      const sink = new Sink();
      sink.room = code;
      for (let count = 0; count < 3; count++) sink.lines.write('gone\n');
      expect([sink.lines.lost, sink.waits]).toEqual([3, false]);
      sink.room = Infinity;
      sink.lines.write('next\n');
      expect([sink.text, sink.lines.lost]).toEqual(['lost 3\nnext\n', 0]);
    },
  );

  it('are kept within a bound if no process reads', () => {
    const sink = new Sink();
    sink.room = 0;
    const line = `${'x'.repeat(1023)}\n`;
    for (let count = 0; count < 1000; count++) sink.lines.write(line);
    expect(sink.lines.lost).toBe(1000 - 256);
    sink.room = Infinity;
    sink.pass();
    expect(sink.text).toBe(`${line.repeat(256)}lost 744\n`);
  });

  it('arrive whole or not at all, each once, whatever the descriptor takes', () => {
    const step = fc.oneof(
      fc.constant('line' as const),
      fc.constant('pass' as const),
      fc.nat(12),
      fc.constantFrom('ENOSPC', 'EIO'),
    );
    const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const sink = new Sink();
      let written = 0;
      for (const one of steps) {
        if (one === 'line') sink.lines.write(`<${written++}>\n`);
        else if (one === 'pass') sink.pass();
        else sink.room = one;
      }
      sink.room = Infinity;
      while (sink.waits) sink.pass();
      sink.lines.write('<end>\n');
      const lines = sink.text.split('\n').slice(0, -1);
      expect(lines.at(-1)).toBe('<end>');
      const told = lines.filter((line) => line.startsWith('lost')).map((line) => Number(line.slice(5)));
      const came = lines.filter((line) => /^<\d+>$/.test(line)).map((line) => Number(line.slice(1, -1)));
      expect(came).toEqual(came.toSorted((left, right) => left - right));
      expect(new Set(came).size).toBe(came.length);
      // A line that an error interrupted is there in part, and is reported as lost.
      expect(came.length + told.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(written);
    });
    fc.assert(property, { numRuns: 500, seed: 1 });
  });
});
