/** Reads, writes and lists objects of a running node over its HTTP interface, with all siblings and their metadata. */
import type { IncomingHttpHeaders } from 'node:http';
import type { KeptConnections, NodeClient, WholeAnswer } from '../operate/node-client.ts';
import type { ObjectName } from './object-name.ts';
import { bucketPath, objectPath, typePath } from './object-name.ts';

/** The largest object that a node sends, with its headers. */
const answerBytesMax = 256 * 1024 * 1024;
const timeoutMs = 60_000;

/** One of an object's values. */
export interface SiblingValue {
  readonly value: Buffer;
  /** The HTTP headers that describe the value, by lower-case name: type, encoding, links, metadata, indexes. */
  readonly headers: Readonly<Record<string, string>>;
  /** As HTTP writes dates. Not part of what a writer sends. */
  readonly lastModified: string;
}

/** An object as a client reads it: at least one sibling. Tombstones are left out. */
export interface ReadObject {
  /** What a later write sends back. */
  readonly context: string;
  readonly siblings: readonly SiblingValue[];
}

/** How a write treats what the key holds. */
export type WriteCondition = { readonly kind: 'absent' } | { readonly kind: 'beside' | 'replace'; readonly context?: string };

const describing = /^(content-type|content-encoding|link|x-riak-(meta|index)-.*)$/;

/** The objects behind one node. */
export class ObjectClient {
  readonly #client: NodeClient;
  readonly #agent: KeptConnections;

  constructor(client: NodeClient, agent: KeptConnections) {
    this.#client = client;
    this.#agent = agent;
  }

  /** The object; undefined if there is none. Rejects with `NodeRefusal`. */
  async get(name: ObjectName): Promise<ReadObject | undefined> {
    // Another client may replace the siblings between the list of their tags and their values: then it is read again.
    for (;;) {
      const answer = await this.#ask('GET', objectPath(name), { headers: { Accept: 'text/plain' } });
      if (answer.status === 404) return undefined;
      const context = text(answer.headers['x-riak-vclock']);
      if (answer.status === 200) return { context, siblings: alive([siblingOf(answer)]) };
      if (answer.status !== 300) throw this.#refusal(answer);
      const tags = answer.body.toString('latin1').trim().split('\n').slice(1);
      const siblings = await this.#siblings(name, tags);
      if (siblings !== undefined) return { context, siblings };
    }
  }

  /** The context of whatever the key holds, a tombstone included; undefined if nothing. */
  async contextOf(name: ObjectName): Promise<string | undefined> {
    const isFound = ({ status }: WholeAnswer): boolean => [200, 300, 404].includes(status);
    const brief = await this.#ask('HEAD', objectPath(name), {});
    // An answer to HEAD has no body, which would say why the node refuses.
    const answer = isFound(brief) ? brief : await this.#ask('GET', objectPath(name), {});
    if (isFound(answer)) return answer.headers['x-riak-vclock']?.toString();
    throw this.#refusal(answer);
  }

  /** Writes one value. Resolves with false if the condition does not hold. Rejects with `NodeRefusal`. */
  async put(
    name: ObjectName,
    { value, headers }: Pick<SiblingValue, 'value' | 'headers'>,
    condition: WriteCondition,
  ): Promise<boolean> {
    const own =
      condition.kind === 'absent'
        ? { 'If-None-Match': '*' }
        : condition.context === undefined
          ? {}
          : { 'X-Riak-Vclock': condition.context };
    const answer = await this.#ask('PUT', objectPath(name), { headers: { ...headers, ...own }, body: value });
    if (answer.status === 204) return true;
    if (answer.status === 412 && condition.kind === 'absent') return false;
    throw this.#refusal(answer);
  }

  /** Deletes the object. Resolves with false if there is none. */
  async delete(name: ObjectName): Promise<boolean> {
    const answer = await this.#ask('DELETE', objectPath(name), {});
    if (answer.status === 204) return true;
    if (answer.status === 404) return false;
    throw this.#refusal(answer);
  }

  /** The properties of a bucket. */
  async properties(type: string, bucket: string): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.#ask('GET', `${bucketPath(type, bucket)}/props`, {});
    if (answer.status !== 200) throw this.#refusal(answer);
    return (JSON.parse(answer.body.toString()) as { props: Readonly<Record<string, unknown>> }).props;
  }

  /** The names of all bucket types. */
  async types(): Promise<readonly string[]> {
    const answer = await this.#ask('GET', '/types', {});
    if (answer.status !== 200) throw this.#refusal(answer);
    return (JSON.parse(answer.body.toString()) as { types: readonly { readonly name: string }[] }).types.map(
      ({ name }) => name,
    );
  }

  /** The buckets of a type, page by page. */
  buckets(type: string): AsyncGenerator<readonly string[], void, undefined> {
    return this.#names(`${typePath(type)}/buckets?buckets=stream`, 'buckets');
  }

  /** The keys of a bucket, page by page. */
  keys(type: string, bucket: string): AsyncGenerator<readonly string[], void, undefined> {
    return this.#names(`${bucketPath(type, bucket)}/keys?keys=stream`, 'keys');
  }

  /** Sends a transaction as `POST /transactions` takes it. */
  transact(body: Uint8Array): Promise<WholeAnswer> {
    return this.#ask('POST', '/transactions', { headers: { 'Content-Type': 'application/json' }, body });
  }

  async *#names(path: string, field: string): AsyncGenerator<readonly string[], void, undefined> {
    const response = await this.#client.stream(path, { timeoutMs, answerBytesMax });
    response.setEncoding('utf8');
    for await (const one of jsonObjects(response as AsyncIterable<string>)) {
      const page = (one as Readonly<Record<string, unknown>>)[field];
      if (Array.isArray(page) && page.length > 0) yield page as readonly string[];
    }
  }

  /** Undefined if one of them is gone. */
  async #siblings(name: ObjectName, tags: readonly string[]): Promise<readonly SiblingValue[] | undefined> {
    const siblings: SiblingValue[] = [];
    for (const tag of tags) {
      const answer = await this.#ask('GET', `${objectPath(name)}?vtag=${encodeURIComponent(tag)}`, {});
      if (answer.status === 404) return undefined;
      if (answer.status !== 200) throw this.#refusal(answer);
      siblings.push(siblingOf(answer));
    }
    return alive(siblings);
  }

  #ask(
    method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    sent: { readonly headers?: Readonly<Record<string, string>>; readonly body?: Uint8Array },
  ): Promise<WholeAnswer> {
    return this.#client.exchange(method, path, { ...sent, agent: this.#agent, timeoutMs, answerBytesMax });
  }

  #refusal({ status, body }: WholeAnswer): Error {
    return this.#client.refusal(status, body.toString('utf8'));
  }
}

function alive(siblings: readonly SiblingValue[]): readonly SiblingValue[] {
  return siblings.filter(({ headers }) => headers['x-riak-deleted'] === undefined);
}

function siblingOf({ headers, body }: WholeAnswer): SiblingValue {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && (describing.test(name) || name === 'x-riak-deleted')) kept[name] = text(value);
  }
  const links = withoutUp(kept['link']);
  if (links === '') delete kept['link'];
  else kept['link'] = links;
  return { value: body, headers: kept, lastModified: text(headers['last-modified']) };
}

/** The links without the one to the bucket, which the node adds to every answer. */
function withoutUp(links = ''): string {
  return links
    .split(/, (?=<)/)
    .filter((link) => !link.endsWith('rel="up"'))
    .join(', ');
}

function text(value: IncomingHttpHeaders[string]): string {
  return Array.isArray(value) ? value.join(', ') : (value ?? '');
}

const jsonBytesMax = 64 * 1024 * 1024;

/** The objects in the stream. Throws if the stream ends within one, or if one is longer than 64 MiB. */
export async function* jsonObjects(chunks: AsyncIterable<string>): AsyncGenerator<unknown, void, undefined> {
  let held = '';
  let at = 0;
  let depth = 0;
  let quoted = false;
  for await (const chunk of chunks) {
    held += chunk;
    for (; at < held.length; at++) {
      const char = held[at];
      if (quoted) {
        if (char === '\\') at += 1;
        else if (char === '"') quoted = false;
      } else if (char === '"') quoted = true;
      else if (char === '{') depth += 1;
      else if (char === '}' && --depth === 0) {
        yield JSON.parse(held.slice(0, at + 1));
        held = held.slice(at + 1);
        at = -1;
      }
    }
    if (held.length > jsonBytesMax) throw new Error('the node sends an object of more than 64 MiB');
  }
  if (held.trim() !== '') throw new Error('the answer ended within an object: the node or the connection failed');
}
