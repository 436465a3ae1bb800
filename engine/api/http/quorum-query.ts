/**
 * Parses the query parameters of Riak's object requests, with Riak's error texts. Unknown parameters are ignored, as in
 * Riak. A known parameter with a value that the product cannot honour is refused, never ignored.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Need } from '../../replication/requests.ts';
import type { AskedRead, AskedWrite, ReplicaTerms, WriteQuorum } from '../../replication/needs.ts';
import { bucketReadNeed, bucketWriteNeed, nothingAsked } from '../../replication/needs.ts';
import type { BucketProperties } from '../../buckets/properties.ts';
import type { Reading } from '../objects.ts';
import { timeoutMsMax } from '../objects.ts';

/** The parameters of one object request as the client gave them. `default` or undefined: not given. */
interface AskedQuery extends AskedRead, AskedWrite {
  /** Milliseconds. */
  readonly timeoutMs: number | undefined;
  readonly notFoundOk: boolean | undefined;
  readonly basicQuorum: boolean | undefined;
  readonly returnBody: boolean;
  readonly vtag: string | undefined;
}

const nothingGiven: AskedQuery = {
  ...nothingAsked,
  timeoutMs: undefined,
  notFoundOk: undefined,
  basicQuorum: undefined,
  returnBody: false,
  vtag: undefined,
};

/**
 * The parameters of one object request, with the bucket's properties for those that the client left out. Needs are
 * computed when they are asked for: a read needs no need of writes.
 */
export class ObjectQuery {
  readonly #asked: AskedQuery;
  readonly #terms: ReplicaTerms;
  readonly #bucket: BucketProperties;

  constructor(asked: AskedQuery, terms: ReplicaTerms, bucket: BucketProperties) {
    this.#asked = asked;
    this.#terms = terms;
    this.#bucket = bucket;
  }

  /** What a read waits for. */
  get reading(): Reading {
    const { need, quorum } = bucketReadNeed(this.#terms, this.#bucket, this.#asked);
    const notFoundOk = this.#asked.notFoundOk ?? this.#bucket.notfoundOk;
    const basicQuorum = this.#asked.basicQuorum ?? this.#bucket.basicQuorum;
    return { need, quorum, notFoundOk, basicQuorum };
  }

  /** What a write waits for. */
  get writing(): WriteQuorum {
    return bucketWriteNeed(this.#terms, this.#bucket, this.#asked);
  }

  /** Milliseconds that the client is willing to wait; undefined: not given. */
  get timeoutMs(): number | undefined {
    return this.#asked.timeoutMs;
  }

  /** Whether a write is answered with the object. */
  get returnBody(): boolean {
    return this.#asked.returnBody;
  }

  /** The tag of the sibling that the client wants. */
  get vtag(): string | undefined {
    return this.#asked.vtag;
  }
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
  // Most requests have no query: they skip sixteen lookups.
  return new ObjectQuery(query.size === 0 ? nothingGiven : askedOf(query), terms, bucket);
}

function askedOf(query: URLSearchParams): AskedQuery {
  const rw = quorum(query, 'rw');
  const r = readQuorum(query);
  const w = quorum(query, 'w');
  refuseUnsupported(query);
  return {
    r: r === 'default' ? rw : r,
    w: w === 'default' ? rw : w,
    pr: quorum(query, 'pr'),
    pw: quorum(query, 'pw'),
    dw: quorum(query, 'dw'),
    nodeConfirms: quorum(query, 'node_confirms'),
    timeoutMs: timeoutOf(query),
    notFoundOk: boolean(query, 'notfound_ok'),
    basicQuorum: boolean(query, 'basic_quorum'),
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
