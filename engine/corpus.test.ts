/**
 * Runs the parsers on the inputs of `testdata/corpus.txt`, which once broke a parser of this or another product. Each
 * line names a parser, the expected outcome, and the bytes (with JSON's escapes, one character a byte). A new finding
 * becomes a new line. The second test edits these inputs at random: a parser must accept the result, wait for more
 * bytes, or refuse with an error's name.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import wabt from 'wabt';

import { readAuthorization } from './api/http-guard.ts';
import { defaultContentLimits } from './api/content-limits.ts';
import { TestingClient } from './api/http/client.fixture.ts';
import { parseHttpDate } from './api/http/http-date.ts';
import { parseLinks } from './api/http/link-header.ts';
import { parseTransaction } from './api/http/transaction-body.ts';
import { FrameReader } from './api/pbc/frames.ts';
import { messages } from './api/pbc/schema.ts';
import { parseTransactionCall } from './api/pbc/transaction-calls.ts';
import { readProperties } from './api/property-json.ts';
import { ProtocolError, RequestReader } from './api/redis/request-reader.ts';
import { LockstepError } from './base/errors.ts';
import { defaultJobLimits } from './mapreduce/job.ts';
import { parseJob } from './mapreduce/parse-job.ts';
import { wasmLimitDefaults } from './wasm/module-limits.ts';
import { prepareModule } from './wasm/prepare.ts';
import { binaryOf } from './wasm/wat.ts';

const toolkit = await wabt();

const transactionLimits = {
  operationCountMax: 4,
  bytesMax: 10_000,
  content: defaultContentLimits,
  knowsType: (type: string) => type === 'maps',
};

const requests = {
  get: messages.getReq,
  put: messages.putReq,
  delete: messages.delReq,
  job: messages.mapRedReq,
};

/** The parsers by name. Each returns a word for what it accepted, or throws the error with which it refuses. */
const parsers: Readonly<Record<string, (bytes: Buffer) => string | Promise<string>>> = {
  resp: (bytes) => {
    const reader = new RequestReader({
      argumentCountMax: 1000,
      argumentBytesMax: 1000,
      requestBytesMax: 5000,
    });
    reader.push(bytes);
    let count = 0;
    while (reader.next() !== undefined) count += 1;
    return reader.within ? 'waits' : `${count} taken`;
  },
  pbc: (bytes) => {
    const reader = new FrameReader(1000);
    reader.push(bytes);
    let count = 0;
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
      for (const { code, decode } of Object.values(requests)) if (code === frame.code) decode(frame.body);
      parseTransactionCall(frame, transactionLimits);
      count += 1;
    }
    return reader.pendingBytes > 0 ? 'waits' : `${count} taken`;
  },
  link: (bytes) => `${parseLinks(bytes.toString('latin1')).length} links`,
  date: (bytes) => (parseHttpDate(bytes.toString('latin1')) === undefined ? 'none' : 'taken'),
  authorization: (bytes) => (readAuthorization(bytes.toString('latin1')) === undefined ? 'none' : 'taken'),
  http: async (bytes) => {
    const [first = '', ...lines] = bytes.toString('latin1').split('\n');
    const [method = '', target = ''] = first.split(' ');
    const headers = lines.map(
      (line) => [line.split(':')[0] ?? '', line.slice(line.indexOf(':') + 1)] as const,
    );
    const answer = await new TestingClient().call({
      method,
      target,
      headers: Object.fromEntries(headers),
      body: 'v',
    });
    expect(answer.status).toBeLessThan(500);
    return String(answer.status);
  },
  job: (bytes) => `${parseJob(bytes, defaultJobLimits).phases.length} phases`,
  transaction: (bytes) =>
    `${parseTransaction(bytes, undefined, transactionLimits).operations.length} operations`,
  properties: (bytes) => {
    const given: unknown = JSON.parse(bytes.toString('utf8'));
    if (typeof given !== 'object' || given === null) return 'none';
    readProperties({ ...given }, { readLevel: 'DC_QUORUM', writeLevel: 'DC_ONE', replicaCount: () => 3 });
    return 'taken';
  },
  wasm: (bytes) => prepareModule(bytes, wasmLimitDefaults).roles.join(),
  wat: async (bytes) => {
    const binary = await binaryOf(bytes, { compileText: (text) => compiled(text) }, 10_000, 1_000_000);
    return prepareModule(binary, wasmLimitDefaults).roles.join();
  },
};

/** Assembles as the node's worker thread does (`real/wasm-tools.ts`). */
async function compiled(text: string): Promise<Uint8Array> {
  await Promise.resolve();
  try {
    const parsed = toolkit.parseWat('module.wat', text);
    parsed.validate();
    const { buffer } = parsed.toBinary({});
    parsed.destroy();
    return Uint8Array.from(buffer);
  } catch (error) {
    throw new LockstepError('BadRequest', String(error));
  }
}

async function outcomeOf(parser: string, bytes: Buffer): Promise<string> {
  try {
    return (await parsers[parser]?.(bytes)) ?? 'no such parser';
  } catch (error) {
    if (error instanceof LockstepError) return error.code;
    if (error instanceof ProtocolError || error instanceof SyntaxError) return error.name;
    throw error;
  }
}

interface Finding {
  readonly parser: string;
  readonly outcome: string;
  readonly bytes: Buffer;
}

const corpus = readFileSync(join(import.meta.dirname, 'testdata/corpus.txt'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line): Finding => {
    const [, parser = '', outcome = '', text = ''] = /^(\S+) +\[([^\]]*)\] +(".*")$/.exec(line) ?? [line];
    return { parser, outcome, bytes: Buffer.from(String(JSON.parse(text)), 'latin1') };
  });

describe('the corpus', () => {
  test.each(corpus)('$parser $outcome $bytes', async ({ parser, outcome, bytes }) => {
    expect(await outcomeOf(parser, bytes)).toBe(outcome);
  });

  test('has an input for every parser', () => {
    expect(new Set(corpus.map(({ parser }) => parser))).toEqual(new Set(Object.keys(parsers)));
  });
});

const edit = fc.record({
  at: fc.nat(2000),
  byte: fc.nat(255),
  kind: fc.constantFrom('set', 'insert', 'remove', 'double'),
});

function edited(bytes: Buffer, { at, byte, kind }: { at: number; byte: number; kind: string }): Buffer {
  const place = at % (bytes.length + 1);
  const [head, tail] = [bytes.subarray(0, place), bytes.subarray(place)];
  if (kind === 'insert') return Buffer.concat([head, Buffer.of(byte), tail]);
  if (kind === 'double') return Buffer.concat([bytes, tail]);
  return Buffer.concat([head, Buffer.of(...(kind === 'set' ? [byte] : [])), tail.subarray(1)]);
}

test.each(Object.keys(parsers))(
  '%s accepts, waits, or refuses with a named error, whatever the bytes',
  async (parser) => {
    const own = corpus.filter((finding) => finding.parser === parser);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...own),
        fc.array(edit, { minLength: 1, maxLength: 4 }),
        async (one, edits) => {
          const bytes = edits.reduce(edited, one.bytes);
          expect(await outcomeOf(parser, bytes.subarray(0, 50_000))).toMatch(/^[A-Za-z0-9, ]+$/);
        },
      ),
      { numRuns: parser === 'http' || parser === 'wat' ? 60 : 200 },
    );
  },
);
