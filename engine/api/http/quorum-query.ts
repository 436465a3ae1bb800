/**
 * Parses the query parameters of Riak's object requests, with Riak's error texts. Unknown parameters are ignored, as in
 * Riak. A known parameter with a value that the product cannot honour is refused, never ignored.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Need } from '../../replication/requests.ts';
import type { ReplicaTerms, WriteQuorum } from '../../replication/needs.ts';
import { bucketReadNeed, bucketWriteNeed } from '../../replication/needs.ts';
import type { BucketProperties } from '../../buckets/properties.ts';
import type { Reading } from '../objects.ts';
import { timeoutMsMax } from '../objects.ts';

/** The parameters of one object request, with the bucket's properties for those that the client left out. */
export interface ObjectQuery {
  readonly reading: Reading;
  readonly writing: WriteQuorum;
  readonly timeoutMs: number | undefined;
  readonly returnBody: boolean;
  /** The tag of the sibling that the client wants. */
  readonly vtag: string | undefined;
}

const wholeNumber = /^\d{1,9}$/;
/** The node's `sync` setting decides whether an acknowledged write is on stable storage; a request cannot. */
const syncWords = ['default', 'backend'];

/**
 * Parses the parameters; the bucket's properties supply those that are missing. Throws `BadRequest`. `rw` is Riak's old
 * name for both needs of a deletion.
 */
export function parseObjectQuery(
  query: URLSearchParams,
  terms: ReplicaTerms,
  bucket: BucketProperties,
): ObjectQuery {
  const nodeConfirms = quorum(query, 'node_confirms');
  const rw = quorum(query, 'rw');
  const r = readQuorum(query);
  const w = quorum(query, 'w');
  const timeoutMs = timeoutOf(query);
  refuseUnsupported(query);
  return {
    reading: {
      ...bucketReadNeed(terms, bucket, {
        r: r === 'default' ? rw : r,
        pr: quorum(query, 'pr'),
        nodeConfirms,
      }),
      notFoundOk: boolean(query, 'notfound_ok') ?? bucket.notfoundOk,
      basicQuorum: boolean(query, 'basic_quorum') ?? bucket.basicQuorum,
    },
    writing: bucketWriteNeed(terms, bucket, {
      w: w === 'default' ? rw : w,
      dw: quorum(query, 'dw'),
      pw: quorum(query, 'pw'),
      nodeConfirms,
    }),
    timeoutMs,
    returnBody: query.get('returnbody') === 'true',
    vtag: query.get('vtag') ?? undefined,
  };
}

function quorum(query: URLSearchParams, name: string): Need {
  const text = query.get(name);
  if (text === null) return 'default';
  if (text === 'default' || text === 'one' || text === 'quorum' || text === 'all') return text;
  if (wholeNumber.test(text)) return Number(text);
  const words = "'one', 'quorum' or 'all'";
  throw new LockstepError(
    'BadRequest',
    `${name} query parameter must be an integer or one of the following words: ${words}`,
  );
}

/** Riak's quorum words, and `primary`, the product's word for the key's primary. */
function readQuorum(query: URLSearchParams): Need | 'primary' {
  return query.get('r') === 'primary' ? 'primary' : quorum(query, 'r');
}

/**
 * Milliseconds that the client is willing to wait, at most `timeoutMsMax`; undefined: not given. Throws `BadRequest`.
 */
export function timeoutOf(query: URLSearchParams): number | undefined {
  const text = query.get('timeout');
  if (text === null) return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value === 0)
    throw new LockstepError('BadRequest', `Bad timeout value "${text}": a number of milliseconds`);
  return Math.min(value, timeoutMsMax);
}

function refuseUnsupported(query: URLSearchParams): void {
  if (boolean(query, 'asis') === true) refuse('asis=true', 'every write gets a version of its own');
  const sync = query.get('sync_on_write');
  if (sync !== null && !syncWords.includes(sync)) {
    refuse(`sync_on_write=${sync}`, 'the sync setting of the node decides; default and backend are allowed');
  }
}

/** A flag of the query; undefined if it is absent or `default`. Throws `BadRequest`. */
export function boolean(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name)?.toLowerCase();
  if (text === undefined || text === 'default') return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw new LockstepError('BadRequest', `${name} query parameter must be true or false`);
}

function refuse(what: string, why: string): never {
  throw new LockstepError('BadRequest', `${what} is not supported: ${why}`);
}
