/** Laws of a repository's storage, of a directory and of S3 servers; and what a bucket needs beyond them. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { BackupStorage } from '../../backup/backup-storage.ts';
import { DirectoryStorage } from '../../backup/directory-storage.ts';
import { BackupRepository, repositoryFolders } from '../../backup/repository.ts';
import { createRealDisk } from '../../real/disk.ts';
import { S3Client } from '../../real/s3/s3-client.ts';
import type { S3Settings } from '../../real/s3/s3-settings.ts';
import { s3SettingsOf } from '../../real/s3/s3-settings.ts';
import { S3Server } from './s3-server.fixture.ts';
import { S3Storage } from './s3-storage.ts';
import { SwiftServer, swiftMissing } from './swift-server.fixture.ts';

const partBytes = 4096;
const patience = { attemptsMax: 4, delayMs: 1, delayMsMax: 2, timeoutMs: 10_000 };
const times = { renewMs: 60_000, staleMs: 600_000, settleMs: 1 };

function storageAt(settings: S3Settings): S3Storage {
  return new S3Storage(new S3Client(settings, patience), partBytes, times);
}

async function* chunked(bytes: Buffer, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += size)
    yield await Promise.resolve(bytes.subarray(at, Math.min(at + size, bytes.length)));
}

const pathOf = (sha256: string): string => `segments/${sha256}`;

/** What every storage promises. */
function laws(storage: () => BackupStorage): void {
  test('a file that was written is listed, and is what was written, once replaced too', async () => {
    expect(await storage().list('backups')).toEqual([]);
    for (const name of ['b & c', 'a', 'd', 'c']) await storage().write(`backups/${name}`, Buffer.from('old'));
    await storage().write('backups/a', Buffer.from('new'));
    expect(await storage().list('backups')).toEqual(['a', 'b & c', 'c', 'd']);
    expect((await storage().read('backups/a', 10))?.toString()).toBe('new');
    expect(await storage().size('backups/a')).toBe(3);
    expect(await storage().size('backups/none')).toBeUndefined();
    expect(await storage().read('backups/none', 10)).toBeUndefined();
    await expect(storage().read('backups/a', 2)).rejects.toThrow();
    await storage().remove(['backups/a', 'backups/c', 'backups/d']);
    expect(await storage().list('backups')).toEqual(['b & c']);
  });

  test.each([0, 1, partBytes, partBytes + 1, 3 * partBytes])(
    'a segment of %i bytes is stored under its hash, and read at any offset',
    async (length) => {
      const whole = Buffer.from(Array.from({ length }, (_, index) => index % 251));
      const sha256 = createHash('sha256').update(whole).digest('hex');
      expect(await storage().store(`segments/${length}.part`, chunked(whole, 1000), pathOf)).toEqual({
        sha256,
        bytes: length,
      });
      expect(await storage().list('segments')).toContain(sha256);
      expect(await storage().list('segments')).not.toContain(`${length}.part`);
      const file = await storage().open(pathOf(sha256));
      expect(await file.size()).toBe(length);
      for (const from of [0, 1, partBytes - 3, length - 1, length].filter((at) => at >= 0)) {
        const into = Buffer.alloc(5);
        const count = await file.readAt(into, from);
        expect(count).toBeGreaterThan(from < length ? 0 : -1);
        expect(into.subarray(0, count)).toEqual(whole.subarray(from, from + count));
      }
      await file.close();
    },
  );

  test('a segment whose source fails is not stored', async () => {
    const before = await storage().list('segments');
    async function* failing(): AsyncGenerator<Uint8Array, void, undefined> {
      yield* chunked(Buffer.alloc(3 * partBytes), 1000);
      throw new Error('the node went away');
    }
    await expect(storage().store('segments/failing.part', failing(), pathOf)).rejects.toThrow('went away');
    const left = (await storage().list('segments')).filter((name) => !name.endsWith('.part'));
    expect(left).toEqual(before);
    await expect(storage().open('segments/none')).rejects.toMatchObject({ failure: 'notFound' });
  });

  test('one process at a time holds the lock', async () => {
    const lock = await storage().lock();
    await expect(storage().lock()).rejects.toMatchObject({ code: 'Conflict' });
    await lock.check();
    await lock.release();
    await (await storage().lock()).release();
  });
}

describe('a directory', () => {
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-storage-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const storage = new DirectoryStorage(createRealDisk(directory), repositoryFolders);
  beforeAll(async () => (await storage.lock()).release());
  laws(() => storage);
});

describe.each(['kept', 'ignored', 'refused'] as const)(
  'a server by which conditions are %s',
  (conditions) => {
    let server: S3Server;
    beforeAll(async () => {
      server = await S3Server.start();
      server.conditions = conditions;
    });
    afterAll(() => server.stop());
    laws(() => storageAt(server.settings));
  },
);

describe.skipIf(swiftMissing !== undefined)(
  `OpenStack Swift${swiftMissing === undefined ? '' : `: ${swiftMissing}`}`,
  () => {
    let server: SwiftServer;
    beforeAll(async () => {
      server = await SwiftServer.start();
      await new S3Client({ ...server.settings }, patience).request({ method: 'PUT', key: '' });
    }, 60_000);
    afterAll(() => server.stop());
    laws(() => storageAt(server.settings));

    test('refuses a wrong secret, another region and a bucket that is not there', async () => {
      await expect(storageAt({ ...server.settings, secretAccessKey: 'no' }).lock()).rejects.toThrow(
        'the secret key does not belong to the access key test:tester',
      );
      await expect(storageAt({ ...server.settings, region: 'us-east-1' }).lock()).rejects.toThrow(
        'set AWS_REGION=eu-test-1',
      );
      await expect(storageAt({ ...server.settings, bucket: 'other' }).lock()).rejects.toThrow(
        'there is no bucket other',
      );
    });
  },
);

describe('a bucket', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await S3Server.start();
  });
  afterAll(() => server.stop());

  test('is asked again while the server is busy or answers get lost, and not for ever', async () => {
    const storage = storageAt(server.settings);
    server.failures = 3;
    await storage.write('backups/a', Buffer.from('a'));
    server.failures = 4;
    await expect(storage.write('backups/a', Buffer.from('b'))).rejects.toThrow('503 SlowDown');
    server.lostAnswers = 1;
    await (await storage.lock()).release();
    const whole = Buffer.alloc(2 * partBytes, 'x');
    for (const at of [1, 2, 3, 4, 5]) {
      const upload = storage.store(`segments/${at}.part`, chunked(whole, 1000), pathOf);
      server.lostAnswers = 1;
      expect((await upload).bytes).toBe(whole.length);
    }
    await storage.removeUnfinished();
    expect(server.uploads.size).toBe(0);
  });

  test('whose answer to the end of an upload is lost has the object', async () => {
    const client = new S3Client(server.settings, patience);
    const id = await client.beginUpload('whole');
    const tag = await client.uploadPart('whole', id, 1, Buffer.from('one'));
    server.lostAnswers = 1;
    await client.endUpload('whole', id, [tag]);
    expect(server.objects.get('whole')?.body.toString()).toBe('one');
  });

  test('that answers 200 with an error is asked again', async () => {
    const client = new S3Client(server.settings, patience);
    const error = '<Error><Code>InternalError</Code><Message>try again</Message></Error>';
    const id = await client.beginUpload('late');
    const tag = await client.uploadPart('late', id, 1, Buffer.from('one'));
    server.instead = [error];
    await client.endUpload('late', id, [tag]);
    server.instead = [error];
    await client.copy('late', 'later');
    server.instead = [error];
    expect(await client.list('late')).toEqual(['r']);
    server.instead = [error, error, error, error];
    await expect(client.copy('late', 'later')).rejects.toThrow('InternalError): try again');
  });

  test('loses no segment if a list is no list, or only a part of one', async () => {
    const repository = new BackupRepository(storageAt(server.settings));
    const stored = await repository.store('needed', chunked(Buffer.alloc(100, 'n'), 10));
    const segments = [{ ...stored, number: 1, kind: 'log' as const, sealed: true, seq_min: 1, seq_max: 1 }];
    const node = { node: 'n1', datacenter: 'dc1', rack: 'r1', store_id: 'ab', created_ms: 1 };
    await repository.commit({
      id: '20261130T000000000Z',
      cluster_id: 'orchard',
      taken_ms: 1,
      held_us: 1,
      view: 'v',
      without: [],
      nodes: [{ ...node, segments: segments.map((one) => ({ ...one, damaged: false })), transactions: [] }],
    });
    server.instead = ['<html>log in first</html>'];
    await expect(repository.remove([])).rejects.toThrow('is something else at this address?');
    server.instead = ['<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>'];
    await expect(repository.remove([])).rejects.toThrow('a part of it');
    await repository.remove([]);
    expect(await repository.damageOf(stored)).toBeUndefined();
  });

  test('whose bytes were changed is noticed', async () => {
    const repository = new BackupRepository(storageAt(server.settings));
    const stored = await repository.store('changed', chunked(Buffer.alloc(3 * partBytes, 'a'), 1000));
    expect(await repository.damageOf(stored)).toBeUndefined();
    const name = `of/a cluster/segments/${stored.sha256}`;
    const kept = server.objects.get(name);
    if (kept === undefined) throw new Error('it is not there');
    server.objects.set(name, { ...kept, body: Buffer.concat([kept.body.subarray(1), Buffer.from('b')]) });
    expect(await repository.damageOf(stored)).toContain('do not have the hash');
    server.objects.delete(name);
    expect(await repository.damageOf(stored)).toContain('not there');
  });

  test('has a lock that ends with its holder, and the old holder learns of it', async () => {
    const storage = storageAt(server.settings);
    const old = await storage.lock();
    await expect(storage.lock()).rejects.toThrow('last seen');
    server.aheadMs = times.staleMs + 1000;
    const taken = await storage.lock();
    server.aheadMs = 0;
    await expect(old.check()).rejects.toMatchObject({ code: 'Conflict' });
    await old.release();
    await taken.check();
    await taken.release();
    await expect(taken.check()).rejects.toThrow('removed meanwhile');
  });

  test.each([
    ['a wrong secret', { secretAccessKey: 'x' }, 'the secret key does not belong to the access key AKTEST'],
    ['an unknown key', { accessKeyId: 'x' }, 'does not know the access key x'],
    ['another region', { region: 'us-east-1' }, 'the bucket is in the region eu-test-1'],
    ['no such bucket', { bucket: 'none' }, 'there is no bucket none'],
    ['no server', { endpoint: 'http://127.0.0.1:1' }, 'cannot be reached'],
  ])('says what is wrong: %s', async (_, wrong, words) => {
    await expect(storageAt({ ...server.settings, ...wrong }).list('backups')).rejects.toThrow(words);
  });

  test('is named by a URL, and by the variables of the AWS tools', () => {
    const keys = { AWS_ACCESS_KEY_ID: 'k', AWS_SECRET_ACCESS_KEY: 's', HOME: '/none' };
    expect(s3SettingsOf('s3://shop/a/b/', { ...keys, AWS_DEFAULT_REGION: 'eu-west-1' })).toEqual({
      bucket: 'shop',
      prefix: 'a/b',
      endpoint: 'https://s3.eu-west-1.amazonaws.com',
      region: 'eu-west-1',
      pathStyle: false,
      accessKeyId: 'k',
      secretAccessKey: 's',
      sessionToken: undefined,
    });
    const own = { ...keys, AWS_ENDPOINT_URL_S3: 'http://minio:9000', AWS_SESSION_TOKEN: 't' };
    expect(s3SettingsOf('s3://shop', own)).toMatchObject({
      prefix: '',
      endpoint: 'http://minio:9000',
      pathStyle: true,
      sessionToken: 't',
    });
    // As in the AWS tools, an empty variable is one that is not set.
    const empty = [
      'AWS_REGION',
      'AWS_ENDPOINT_URL_S3',
      'AWS_ENDPOINT_URL',
      'AWS_PROFILE',
      'AWS_SESSION_TOKEN',
    ];
    const blank = Object.fromEntries(empty.map((name) => [name, '']));
    expect(s3SettingsOf('s3://shop', { ...keys, ...blank })).toEqual(s3SettingsOf('s3://shop', keys));
    for (const url of ['s3://', 's3://A', 's3://shop/..']) expect(() => s3SettingsOf(url, keys)).toThrow(url);
    expect(() => s3SettingsOf('s3://shop', { HOME: '/none' })).toThrow('AWS_ACCESS_KEY_ID');
  });
});
