/**
 * Follows one connection of a node's HTTP listener from the wire: which request for an object has arrived whole, and
 * how it was answered. The simulator's clients send one request on each connection.
 */
import type { HttpMessage } from '../world/http/http-text.ts';
import { HttpRefusal } from '../world/http/http-refusal.ts';
import { HttpReader } from '../world/http/http-text.ts';

/** What a request for an object does. */
export type ObjectRequest = 'get' | 'put' | 'delete';

const objectPath = /^(?:\/types\/[^/?]+)?\/buckets\/[^/?]+\/keys\/[^/?]+(?:\?|$)/;
/** Of buckets and bucket types: listings and properties; of backups and upgrades. */
const handlersPath = new RegExp(
  [
    '^(?:/types/[^/?]+)?/buckets(?:/[^/?]+/(?:props|keys))?(?:\\?|$)',
    '^/types(?:/[^/?]+/props)?(?:\\?|$)',
    '^/(?:backup|upgrade)(?:/|\\?|$)',
  ].join('|'),
);
const kinds: Readonly<Partial<Record<string, ObjectRequest>>> = { GET: 'get', PUT: 'put', DELETE: 'delete' };

/** One connection of the HTTP listener. */
export class HttpConversation {
  refused = false;
  left = false;
  toldEnd = false;
  /** The listener is closed: it accepts no further request. */
  letGo = false;
  /** The request for an object that has arrived whole and is not answered; undefined if there is none. */
  owed: ObjectRequest | undefined;
  /** The time that the last request states, in milliseconds; undefined if it states none. */
  timeoutMs: number | undefined;
  /** The last request for an object was a read. */
  isGet = false;
  /** The last whole request is a GET or HEAD: whatever it is for, its failure counts as that of a read. */
  isRead = false;
  /** The last whole request is for properties of a bucket, a listing or a backup: an error is its handler's. */
  isForHandler = false;
  readonly #asked = new HttpReader(Number.MAX_SAFE_INTEGER);
  readonly #told = new HttpReader(Number.MAX_SAFE_INTEGER);
  #isMalformed = false;

  /** Returns the request for an object that these bytes complete. */
  heard(bytes: Uint8Array): ObjectRequest | undefined {
    if (this.letGo) return undefined;
    const request = this.#next(this.#asked, bytes);
    if (request === undefined) return undefined;
    const [method = '', path = ''] = request.start.split(' ');
    this.isForHandler = handlersPath.test(path);
    this.owed = objectPath.test(path) ? kinds[method] : undefined;
    this.isGet = this.owed === 'get';
    const stated = /[?&]timeout=(\d+)(?:&|$)/.exec(path)?.[1];
    this.timeoutMs = stated === undefined ? undefined : Number(stated);
    this.isRead = method === 'GET' || method === 'HEAD';
    return this.owed;
  }

  /** Returns how many values an answer that these bytes complete shows. */
  wrote(bytes: Uint8Array): number {
    const answer = this.#next(this.#told, bytes);
    if (answer === undefined) return 0;
    const status = answer.start.split(' ')[1];
    if (status === '200') return 1;
    const boundary = /boundary=(\S+)/.exec(answer.headers['content-type'] ?? '')?.[1];
    if (status !== '300' || boundary === undefined) return 0;
    return answer.body.toString('latin1').split(`\r\n--${boundary}\r\n`).length - 1;
  }

  #next(reader: HttpReader, bytes: Uint8Array): HttpMessage | undefined {
    if (this.#isMalformed) return undefined;
    try {
      reader.push(bytes);
      return reader.next();
    } catch (error) {
      if (!(error instanceof HttpRefusal)) throw error;
      this.#isMalformed = true;
      return undefined;
    }
  }
}
