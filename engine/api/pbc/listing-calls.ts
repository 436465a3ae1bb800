/**
 * Parses and answers listings of the binary protocol. Keys of a bucket come as a stream of frames, the last of which is
 * marked `done`. Buckets of a type come in one frame of bounded size, or as a stream if the client asks for it. Each
 * frame is made when the client has taken the previous one.
 */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { bytesOf } from '../../base/ids.ts';
import { defaultType } from '../../base/object-key.ts';
import type { Clock } from '../../io/clock.ts';
import type { KnowsType } from '../objects.ts';
import type { NameLister } from '../name-lister.ts';
import { listingTimeoutMs } from '../name-lister.ts';
import { nameOf, timeoutOf, typeOf } from './call-texts.ts';
import type { Frame } from './frames.ts';
import { messages } from './schema.ts';

/** A decoded listing of keys or buckets. */
export type ListingCall =
  | {
      readonly kind: 'listKeys';
      readonly type: ByteString;
      readonly bucket: ByteString;
      readonly timeoutMs: number;
    }
  | {
      readonly kind: 'listBuckets';
      readonly type: ByteString;
      readonly stream: boolean;
      readonly timeoutMs: number;
    };

/** What the calls work with. */
export interface ListingCallDependencies {
  readonly io: { readonly clock: Clock };
  readonly lister: NameLister;
}

/** Most bytes of the names in an answer of one frame. */
export const bucketsBytesMax = 8 * 1024 * 1024;
const anyKey = Buffer.from('k');

/**
 * Undefined if the frame holds another kind of call. Throws `BadRequest`, and `NotFound` for an unknown bucket type.
 */
export function parseListingCall(frame: Frame, knowsType: KnowsType): ListingCall | undefined {
  if (frame.code === messages.listKeysReq.code) {
    const message = messages.listKeysReq.decode(frame.body);
    const { type, bucket } = nameOf(message, anyKey, knowsType);
    return { kind: 'listKeys', type, bucket, timeoutMs: timeoutOf(message.timeout) ?? listingTimeoutMs };
  }
  if (frame.code !== messages.listBucketsReq.code) return undefined;
  const message = messages.listBucketsReq.decode(frame.body);
  const type = message.type === undefined ? defaultType : typeOf(message.type, knowsType);
  const timeoutMs = timeoutOf(message.timeout) ?? listingTimeoutMs;
  return { kind: 'listBuckets', type, stream: message.stream === true, timeoutMs };
}

/** The frames of the answer. Iterating rejects with a `LockstepError`. */
export function answerListingCall(
  { io, lister }: ListingCallDependencies,
  call: ListingCall,
): AsyncGenerator<Buffer, void, undefined> {
  const deadlineUs = io.clock.nowUs() + call.timeoutMs * 1000;
  if (call.kind === 'listKeys') return keyFrames(lister, call, deadlineUs);
  return call.stream ? bucketFrames(lister, call, deadlineUs) : bucketsAtOnce(lister, call, deadlineUs);
}

async function* keyFrames(
  lister: NameLister,
  { type, bucket }: Extract<ListingCall, { kind: 'listKeys' }>,
  deadlineUs: number,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const { names } of lister.keys(type, bucket, { live: true }, deadlineUs)) {
    yield messages.listKeysResp.encode({ keys: names.map(({ name }) => bytesOf(name)) });
  }
  yield messages.listKeysResp.encode({ done: true });
}

async function* bucketFrames(
  lister: NameLister,
  { type }: Extract<ListingCall, { kind: 'listBuckets' }>,
  deadlineUs: number,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const names of lister.buckets(type, deadlineUs)) {
    yield messages.listBucketsResp.encode({ buckets: names.map(bytesOf) });
  }
  yield messages.listBucketsResp.encode({ done: true });
}

async function* bucketsAtOnce(
  lister: NameLister,
  { type }: Extract<ListingCall, { kind: 'listBuckets' }>,
  deadlineUs: number,
): AsyncGenerator<Buffer, void, undefined> {
  const buckets: Uint8Array[] = [];
  let bytes = 0;
  for await (const names of lister.buckets(type, deadlineUs)) {
    for (const name of names) {
      bytes += name.length;
      buckets.push(bytesOf(name));
    }
    if (bytes <= bucketsBytesMax) continue;
    const detail = `the names of the buckets have more than ${bucketsBytesMax} bytes; list them with stream set`;
    throw new LockstepError('TooLarge', detail);
  }
  yield messages.listBucketsResp.encode({ buckets });
}
