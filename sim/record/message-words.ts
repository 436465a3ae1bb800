/**
 * What a frame between nodes says, for people: its kind, with the kind of the message inside it (`transact.prepare`),
 * what an answer answers, and how many inputs, results or names it carries. Pure.
 */
import { BytesError } from '../../engine/base/bytes.ts';
import { LockstepError } from '../../engine/base/errors.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { unpackKey } from '../../engine/base/object-key.ts';
import type { ListedName, ListingCursor } from '../../engine/mapreduce/listing/listing-messages.ts';
import {
  decodeListingAnswer,
  decodeListingRequest,
} from '../../engine/mapreduce/listing/listing-messages.ts';
import { decodeWork, decodeWorkDone } from '../../engine/mapreduce/peer-messages.ts';
import { decodeReply, decodeRequest } from '../../engine/peer/wire/codec.ts';
import type { Frame } from '../../engine/peer/wire/frames.ts';
import { FrameError } from '../../engine/peer/wire/frames.ts';
import { replyOfKind, requestOfKind } from '../../engine/peer/wire/kinds.ts';
import type { BranchReply } from '../../engine/transactions/formats/messages.ts';
import {
  decodeReply as decodeBranchReply,
  decodeRequest as decodeBranchRequest,
} from '../../engine/transactions/formats/messages.ts';

/** What a frame says. */
export interface FrameWords {
  readonly kind: string;
  /** What it says beyond its kind, if that is worth a word. */
  readonly detail?: string;
  /** Inputs, results or names that it carries. */
  readonly items?: number;
}

/** What the detail of a request about a transaction begins with if it has an idempotency key, which follows. */
export const underId = 'under the id ';

/** So many bytes of a digest are shown. */
const digestBytes = 3;
/** Most characters of what a refusal says. */
const refusalMax = 80;

/** The words of a frame; of one whose body is damaged, the kind alone. */
export function wordsOf(frame: Frame): FrameWords {
  const request = requestOfKind(frame.kind);
  const reply = replyOfKind(frame.kind);
  const kind = request ?? reply ?? 'greeting';
  try {
    if (request !== undefined) return requestWords(frame, kind);
    return reply === undefined ? { kind } : replyWords(frame, kind);
  } catch (error) {
    // A fault altered it on its way into the world's network; the receiver refuses it as well.
    if (error instanceof FrameError || error instanceof BytesError || error instanceof LockstepError)
      return { kind };
    throw error;
  }
}

function requestWords(frame: Frame, kind: string): FrameWords {
  if (kind !== 'transact' && kind !== 'mapPhase' && kind !== 'listNames') return { kind };
  const request = decodeRequest(frame);
  switch (request.kind) {
    case 'transact': {
      const asked = decodeBranchRequest(request.words);
      const id = 'order' in asked ? asked.order.clientId : 'clientId' in asked ? asked.clientId : '';
      return { kind: `${kind}.${asked.kind}`, ...(id === '' ? {} : { detail: `${underId}${id}` }) };
    }
    case 'mapPhase': {
      const { items } = decodeWork(request.words);
      return { kind, detail: counted(items.length, 'input'), items: items.length };
    }
    case 'listNames': {
      const { bucket } = decodeListingRequest(request.words);
      return { kind, detail: bucket === undefined ? 'of buckets' : `of the bucket ${bucket}` };
    }
    default:
      return { kind };
  }
}

const told = ['object', 'failed', 'transacted', 'phaseMapped', 'namesListed', 'mergedMany'];

function replyWords(frame: Frame, kind: string): FrameWords {
  if (!told.includes(kind)) return { kind };
  const reply = decodeReply(frame);
  switch (reply.kind) {
    case 'object': {
      if (reply.described !== undefined) {
        const { bytes, digest } = reply.described;
        const begins = Buffer.from(digest).toString('hex', 0, digestBytes);
        return { kind, detail: `describes ${bytes} bytes, digest ${begins}…` };
      }
      return reply.object !== undefined || reply.same === true ? { kind } : { kind, detail: 'no copy' };
    }
    case 'failed':
      return { kind, detail: `${reply.code}: ${shortened(reply.detail)}` };
    case 'transacted': {
      const answer = decodeBranchReply(reply.words);
      return { kind: `${kind}.${answer.kind}`, detail: branchAnswer(answer) };
    }
    case 'phaseMapped': {
      const { count, missing, results, failure } = decodeWorkDone(reply.words);
      const values = results.reduce((sum, list) => sum + list.length, 0);
      const parts = [
        `${counted(count, 'input')} done`,
        missing.length === 0 ? '' : `${missing.length} of them missing`,
        counted(values, 'result'),
        failure === undefined ? '' : `then ${failure.code}: ${shortened(failure.detail)}`,
      ];
      return { kind, detail: parts.filter(Boolean).join(', '), items: values };
    }
    case 'mergedMany': {
      const why = /[ -~]{4,}/.exec(Buffer.from(reply.words).toString('latin1'))?.[0];
      return why === undefined ? { kind } : { kind, detail: `some parts failed: ${shortened(why)}` };
    }
    case 'namesListed': {
      const { names, next } = decodeListingAnswer(reply.words);
      const end = next === undefined ? 'the last page' : `more follow${behind(names, next)}`;
      return { kind, detail: `${counted(names.length, 'name')}, ${end}`, items: names.length };
    }
    default:
      return { kind };
  }
}

/** What a page says of a name behind which the next one begins, and which is not its own last one. */
export const lacksIt = 'which it lacks';

/** Where the next page begins, unless that is behind this page's last name. */
function behind(names: readonly ListedName[], { skip }: ListingCursor): string {
  const last = names.at(-1)?.name;
  const key = skip === undefined ? undefined : unpackKey(skip as PackedKey)?.key;
  return key === undefined || key === last ? '' : ` behind ${key}, ${lacksIt}`;
}

function branchAnswer(answer: BranchReply): string {
  switch (answer.kind) {
    case 'voted': {
      const why = answer.vote === 'abort' ? ` (${answer.reason})` : '';
      const earlier =
        answer.earlier === undefined ? '' : `, ${answer.earlier.xid} is ${answer.earlier.state}`;
      return `${answer.vote}${why}${earlier}`;
    }
    case 'ended':
      return answer.met ? 'committed, as durable as asked' : 'committed, less durable than asked';
    case 'told':
      return answer.state;
    case 'named':
      return answer.names.length === 0
        ? 'knows no record'
        : `knows ${counted(answer.names.length, 'record')}`;
    case 'fenced':
      return `fenced, ${counted(answer.claims.length, 'claim')} of other attempts`;
    case 'bequeathed':
      return 'what it knows of the lost disk';
  }
}

/** `1 input`, `2 inputs`. */
function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function shortened(text: string): string {
  return text.length > refusalMax ? `${text.slice(0, refusalMax)}…` : text;
}
