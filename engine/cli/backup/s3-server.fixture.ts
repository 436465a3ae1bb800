/**
 * A strict server of the part of S3 that backups use, in memory. It computes the signature (version 4) of each request
 * by itself and refuses any other, and any body whose SHA-256 is not the signed one.
 */
import { createHash, createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { S3Settings } from '../../real/s3/s3-settings.ts';

interface Kept {
  readonly body: Buffer;
  readonly tag: string;
  readonly writtenMs: number;
}

/** Names on a page of a list: few, so that lists have several pages. */
const pageSize = 2;
const partBytesMin = 1024;

export class S3Server {
  readonly bucket = 'backups';
  readonly region = 'eu-test-1';
  readonly accessKeyId = 'AKTEST';
  readonly secretAccessKey = 'a secret/of+tests';
  readonly objects = new Map<string, Kept>();
  readonly uploads = new Map<string, { readonly key: string; readonly parts: Map<number, Buffer> }>();
  /** How the server treats `If-None-Match` and `If-Match` of a put. */
  conditions: 'kept' | 'ignored' | 'refused' = 'kept';
  /** Answers 503 to so many requests from now on. */
  failures = 0;
  /** Bodies that the next requests get instead of what they ask for, with status 200. */
  instead: string[] = [];
  /** Drops the connection after it has done what the request asked, so many times. */
  lostAnswers = 0;
  /** What is added to the time in headers. */
  aheadMs = 0;
  requests = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  static async start(): Promise<S3Server> {
    const server = new S3Server();
    await new Promise<void>((done) => server.#server.listen(0, '127.0.0.1', done));
    return server;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get settings(): S3Settings {
    const { bucket, endpoint, region, accessKeyId, secretAccessKey } = this;
    const prefix = 'of/a cluster';
    return {
      bucket,
      prefix,
      endpoint,
      region,
      pathStyle: true,
      accessKeyId,
      secretAccessKey,
      sessionToken: undefined,
    };
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const url = new URL(request.url ?? '', this.endpoint);
    const odd = this.instead.shift();
    const answer =
      this.#refusal(request, url, body) ??
      (odd === undefined ? this.#act(request, url, body) : { status: 200, body: odd });
    if (this.lostAnswers > 0 && answer.status < 300) {
      this.lostAnswers -= 1;
      response.destroy();
      return;
    }
    const headers = {
      date: new Date(Date.now() + this.aheadMs).toUTCString(),
      'content-length': String(answer.length ?? answer.body.length),
      ...answer.headers,
    };
    response.writeHead(answer.status, headers);
    response.end(request.method === 'HEAD' ? undefined : answer.body);
  }

  #refusal(request: IncomingMessage, url: URL, body: Buffer): Answer | undefined {
    if (this.failures > 0) {
      this.failures -= 1;
      return refused(503, 'SlowDown', 'later');
    }
    const given = request.headers.authorization ?? '';
    const [, key = '', day = '', region = '', signed = '', signature = ''] =
      /^AWS4-HMAC-SHA256 Credential=([^/]*)\/(\d+)\/([^/]*)\/s3\/aws4_request, SignedHeaders=([^,]*), Signature=(\w+)$/.exec(
        given,
      ) ?? [];
    if (key !== this.accessKeyId) return refused(403, 'InvalidAccessKeyId', 'unknown key');
    if (region !== this.region)
      return refused(400, 'AuthorizationHeaderMalformed', 'wrong region', `<Region>${this.region}</Region>`);
    const sum = createHash('sha256').update(body).digest('hex');
    if (request.headers['x-amz-content-sha256'] !== sum)
      return refused(400, 'XAmzContentSHA256Mismatch', 'other bytes');
    for (const name of Object.keys(request.headers))
      if (name.startsWith('x-amz-') && !signed.split(';').includes(name))
        return refused(403, 'AccessDenied', name);
    const date = String(request.headers['x-amz-date']);
    const query = [...url.searchParams]
      .map(([name, value]) => `${strictly(name)}=${strictly(value)}`)
      .sort()
      .join('&');
    const heads = signed.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
    const canonical = [request.method, url.pathname, query, heads.join(''), signed, sum].join('\n');
    const scope = `${day}/${region}/s3/aws4_request`;
    const hash = createHash('sha256').update(canonical).digest('hex');
    const text = ['AWS4-HMAC-SHA256', date, scope, hash].join('\n');
    const own = [day, region, 's3', 'aws4_request', text].reduce<Buffer | string>(
      (secret, part) => createHmac('sha256', secret).update(part).digest(),
      `AWS4${this.secretAccessKey}`,
    );
    const isRecent =
      Math.abs(Date.parse(date.replace(/(....)(..)(..T..)(..)/, '$1-$2-$3:$4:')) - Date.now()) < 900_000;
    if (Buffer.from(own).toString('hex') !== signature)
      return refused(403, 'SignatureDoesNotMatch', 'another secret');
    return isRecent && date.startsWith(day) ? undefined : refused(403, 'RequestTimeTooSkewed', 'clocks');
  }

  #act(request: IncomingMessage, url: URL, body: Buffer): Answer {
    const [, bucket = '', ...rest] = url.pathname.split('/').map(decodeURIComponent);
    const key = rest.join('/');
    if (bucket !== this.bucket) return refused(404, 'NoSuchBucket', 'none');
    const query = url.searchParams;
    const upload = query.get('uploadId');
    if (key === '') return query.has('uploads') ? this.#listUploads(query) : this.#list(query);
    if (request.method === 'POST' && query.has('uploads')) return this.#begin(key);
    if (upload !== null) return this.#inUpload(request, key, upload, query, body);
    if (request.method === 'PUT') return this.#put(request, key, body);
    if (request.method === 'DELETE') {
      this.objects.delete(key);
      return { status: 204, body: '' };
    }
    return this.#read(request, key);
  }

  #read(request: IncomingMessage, key: string): Answer {
    const kept = this.objects.get(key);
    if (kept === undefined) return refused(404, 'NoSuchKey', 'none');
    const headers = { etag: kept.tag, 'last-modified': new Date(kept.writtenMs).toUTCString() };
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    if (from === undefined) return { status: 200, body: kept.body, headers };
    return { status: 206, body: kept.body.subarray(Number(from), Number(to) + 1), headers };
  }

  #put(request: IncomingMessage, key: string, body: Buffer): Answer {
    const { 'if-none-match': none, 'if-match': match, 'x-amz-copy-source': source } = request.headers;
    const kept = this.objects.get(key);
    if ((none ?? match) !== undefined && this.conditions === 'refused')
      return refused(501, 'NotImplemented', 'no conditions');
    if (
      this.conditions === 'kept' &&
      ((none === '*' && kept !== undefined) || (match ?? kept?.tag) !== kept?.tag)
    )
      return refused(412, 'PreconditionFailed', 'no');
    if (typeof source !== 'string')
      return { status: 200, body: '', headers: { etag: this.#keep(key, body) } };
    const from = this.objects.get(decodeURIComponent(source).slice(`/${this.bucket}/`.length));
    if (from === undefined) return refused(404, 'NoSuchKey', 'none');
    return xml(`<CopyObjectResult><ETag>${this.#keep(key, from.body)}</ETag></CopyObjectResult>`);
  }

  #keep(key: string, body: Buffer): string {
    const tag = `"${createHash('md5').update(body).digest('hex')}"`;
    this.objects.set(key, { body, tag, writtenMs: Date.now() });
    return tag;
  }

  #list(query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? '';
    const after = query.get('continuation-token') ?? '';
    const keys = [...this.objects.keys()].filter(
      (key) => key.startsWith(prefix) && !key.slice(prefix.length).includes('/') && key > after,
    );
    const page = keys.sort().slice(0, pageSize);
    const more = keys.length > page.length;
    const entries = page.map((key) => `<Contents><Key>${entities(key)}</Key></Contents>`).join('');
    const token = more ? `<NextContinuationToken>${entities(page.at(-1) ?? '')}</NextContinuationToken>` : '';
    return xml(`<ListBucketResult><IsTruncated>${more}</IsTruncated>${token}${entries}</ListBucketResult>`);
  }

  #listUploads(query: URLSearchParams): Answer {
    const found = [...this.uploads].filter(([, { key }]) => key.startsWith(query.get('prefix') ?? ''));
    const entries = found.map(
      ([id, { key }]) => `<Upload><Key>${entities(key)}</Key><UploadId>${id}</UploadId></Upload>`,
    );
    return xml(`<ListMultipartUploadsResult>${entries.join('')}</ListMultipartUploadsResult>`);
  }

  #begin(key: string): Answer {
    const id = `upload${this.requests}`;
    this.uploads.set(id, { key, parts: new Map() });
    return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
  }

  #inUpload(request: IncomingMessage, key: string, id: string, query: URLSearchParams, body: Buffer): Answer {
    const upload = this.uploads.get(id);
    if (upload?.key !== key) return refused(404, 'NoSuchUpload', 'none');
    if (request.method === 'DELETE') {
      this.uploads.delete(id);
      return { status: 204, body: '' };
    }
    if (request.method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body);
      return {
        status: 200,
        body: '',
        headers: { etag: `"${createHash('md5').update(body).digest('hex')}"` },
      };
    }
    const asked = [
      ...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>&quot;(\w+)&quot;<\/ETag>/g),
    ];
    const parts = asked.map(([, number]) => upload.parts.get(Number(number)) ?? Buffer.alloc(0));
    if (
      asked.some(
        ([, , tag], index) =>
          createHash('md5')
            .update(parts[index] ?? '')
            .digest('hex') !== tag,
      )
    )
      return refused(400, 'InvalidPart', 'no');
    if (parts.slice(0, -1).some(({ length }) => length < partBytesMin))
      return refused(400, 'EntityTooSmall', 'no');
    this.uploads.delete(id);
    return xml(
      `<CompleteMultipartUploadResult><ETag>${this.#keep(key, Buffer.concat(parts))}</ETag></CompleteMultipartUploadResult>`,
    );
  }
}

interface Answer {
  readonly status: number;
  readonly body: Buffer | string;
  readonly length?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

function xml(text: string): Answer {
  return { status: 200, body: `<?xml version="1.0" encoding="UTF-8"?>\n${text}` };
}

function refused(status: number, code: string, message: string, more = ''): Answer {
  return { status, body: `<Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>` };
}

function strictly(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function entities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
