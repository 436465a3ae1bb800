/** Laws of what `lockstep backup` says. */
import { expect, test, vi } from 'vitest';

import { byteStringFrom, byteStringOf } from '../../base/ids.ts';
import { underLock, withHint } from './backup-command.ts';
import { propertiesPath } from './restore-command.ts';

test('what was done under a lock stays done though the lock cannot be released', async () => {
  const said: string[] = [];
  vi.spyOn(console, 'error').mockImplementation((text: unknown) => void said.push(String(text)));
  const release = (): Promise<void> => Promise.reject(new Error('connect ECONNREFUSED'));
  const lock = { check: () => Promise.resolve(), release };
  try {
    expect(await underLock(lock, () => Promise.resolve('done'))).toBe('done');
    expect(said).toEqual([expect.stringMatching(/^lockstep: the lock .* ECONNREFUSED; /)]);
    const failure = new Error('no space');
    await expect(underLock(lock, () => Promise.reject(failure))).rejects.toBe(failure);
  } finally {
    vi.restoreAllMocks();
  }
});

test('properties of a bucket go to the bucket of that name, whatever its bytes', () => {
  const type = 'default';
  expect(propertiesPath({ type, name: byteStringOf('a b/ü') })).toBe('/buckets/a%20b%2F%C3%BC/props');
  const name = byteStringFrom(Buffer.from([0x61, 0xff]));
  expect(propertiesPath({ type: 't', name })).toBe('/types/t/buckets/a%FF/props');
});

test('a node that does not answer is named with what to do about it', () => {
  const error = new Error('http://127.0.0.1:1/ cannot be asked: connect ECONNREFUSED 127.0.0.1:1');
  expect(String(withHint(error))).toContain('ECONNREFUSED 127.0.0.1:1; if the node is down');
  const other = new Error('no space');
  expect(withHint(other)).toBe(other);
});
