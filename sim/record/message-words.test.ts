import { expect, it } from 'vitest';

import type { ByteString, Token } from '../../engine/base/ids.ts';
import { byteStringOf } from '../../engine/base/ids.ts';
import { objectKey } from '../../engine/base/object-key.ts';
import { encodeListingAnswer } from '../../engine/mapreduce/listing/listing-messages.ts';
import { encodeReply, encodeRequest } from '../../engine/peer/wire/codec.ts';
import { FrameArena } from '../../engine/peer/wire/frame-arena.ts';
import { headerBytes } from '../../engine/peer/wire/frames.ts';
import type { PeerReply, PeerRequest } from '../../engine/peer/wire/messages.ts';
import { encodeReply as encodeBranchReply } from '../../engine/transactions/formats/messages.ts';
import { wordsOf } from './message-words.ts';

const arena = new FrameArena({ frameBytesMax: 1 << 20, chunkBytes: 16 * 1024 });
const frameOf = (bytes: Buffer): Parameters<typeof wordsOf>[0] => ({
  ...{ kind: bytes[4] ?? 0, id: 7 },
  body: Buffer.from(bytes.subarray(headerBytes)),
});
const said = (reply: PeerReply): ReturnType<typeof wordsOf> => wordsOf(frameOf(encodeReply(arena, 7, reply)));
const asked = (request: PeerRequest): ReturnType<typeof wordsOf> =>
  wordsOf(frameOf(encodeRequest(arena, 7, request)));

it('a vote is shown with its reason', () => {
  const words = encodeBranchReply({
    ...{ kind: 'voted', vote: 'abort', reason: 'conflict', detail: '', earlier: undefined },
  });
  expect(said({ kind: 'transacted', words })).toEqual({
    ...{ kind: 'transacted.voted', detail: 'abort (conflict)' },
  });
});

it('a page of names is shown with their number, and whether more follow', () => {
  const names = ['a', 'b'].map((name) => ({ name: byteStringOf(name), token: 1 as Token }));
  const words = encodeListingAnswer({ names, next: undefined });
  expect(said({ kind: 'namesListed', words })).toEqual({
    ...{ kind: 'namesListed', detail: '2 names, the last page', items: 2 },
  });
});

it('a page that continues behind a name which it lacks is shown so', () => {
  const names = [{ name: byteStringOf('a'), token: 1 as Token }];
  const key = (name: string): ByteString =>
    objectKey(byteStringOf('default'), byteStringOf('b'), byteStringOf(name)).packed;
  const page = (name: string): string | undefined =>
    said({
      kind: 'namesListed',
      words: encodeListingAnswer({ names, next: { from: 1 as Token, skip: key(name) } }),
    }).detail;
  expect(page('a')).toBe('1 name, more follow');
  expect(page('c')).toBe('1 name, more follow behind c, which it lacks');
});

it('a refusal is shown with its code, a missing object as no copy', () => {
  expect(said({ kind: 'failed', code: 'Overloaded', detail: 'full' }).detail).toBe('Overloaded: full');
  expect(said({ kind: 'object', object: undefined })).toEqual({ kind: 'object', detail: 'no copy' });
});

it('a description of a large object is shown with the beginning of its digest', () => {
  const described = { bytes: 200_090, digest: Buffer.alloc(32, 0xab) };
  expect(said({ kind: 'object', object: undefined, described }).detail).toBe(
    'describes 200090 bytes, digest ababab…',
  );
});

it('of a damaged body the kind is shown', () => {
  expect(asked({ kind: 'mapPhase', words: Buffer.from([255, 255, 255]) })).toEqual({ kind: 'mapPhase' });
});
