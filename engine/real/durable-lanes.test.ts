/** Which durable writes have a descriptor of their own. */
import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';

import { Deferred } from '../base/deferred.ts';
import { DurableLanes, IdleLanes } from './durable-lanes.ts';
import { makeTemporaryDirectory, removeDirectory } from './machine.fixture.ts';

afterEach(() => vi.restoreAllMocks());

/** Writes one byte durably. Resolves with the number of bytes written. */
function write(lanes: DurableLanes, offset: number): Promise<number> {
  const done = new Deferred<number>();
  lanes.write([Buffer.from('x')], offset, (error, bytes) => {
    if (error === null) done.resolve(bytes);
    else done.reject(error);
  });
  return done.promise;
}

test.each([
  ['EMFILE', 2],
  ['ENFILE', 2],
  ['ENOENT', 1],
])('after %s, %i of two writes try to open a descriptor', async (code, tries) => {
  const directory = await makeTemporaryDirectory();
  const path = join(directory, 'log');
  const fd = fs.openSync(path, 'w+');
  const lanes = new DurableLanes(path, fd, new IdleLanes());
  let tried = 0;
  const refuse = (...given: readonly unknown[]): void => {
    tried += 1;
    const done = given.at(-1) as (error: NodeJS.ErrnoException) => void;
    setImmediate(() => done(Object.assign(new Error(code), { code })));
  };
  vi.spyOn(fs, 'open').mockImplementation(refuse);
  expect([await write(lanes, 0), await write(lanes, 1)]).toEqual([1, 1]);
  expect(tried).toBe(tries);
  expect(fs.readFileSync(path, 'latin1')).toBe('xx');
  lanes.close();
  fs.closeSync(fd);
  await removeDirectory(directory);
});
