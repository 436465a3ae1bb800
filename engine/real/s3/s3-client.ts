/**
 * Requests to one S3 bucket: signed by `aws4fetch` (signature version 4), sent by `fetch`, sent again with growing
 * delays while the failure may pass. Every body is in memory and bounded, and its SHA-256 is part of the signature, so
 * the server refuses bytes that changed on the way.
 */
import { createHash } from 'node:crypto';

import type { AwsV4Signer } from 'aws4fetch';

import { isPassing, partsIn, refusalOf, S3Error, textIn, textsIn, unreachable } from './s3-error.ts';
import type { S3Settings } from './s3-settings.ts';

/** How often and how long a request is tried. */
export interface S3Patience {
  readonly attemptsMax: number;
  /** The first delay; it doubles up to `delayMsMax`, and a random half of it is left out. */
  readonly delayMs: number;
  readonly delayMsMax: number;
  /** For one attempt, from the connection to the last byte. */
  readonly timeoutMs: number;
}

/** The defaults: half a minute of a server that is not there. */
export const s3Patience: S3Patience = {
  attemptsMax: 7,
  delayMs: 400,
  delayMsMax: 10_000,
  timeoutMs: 120_000,
};

/** One request about an object; about the bucket if `key` is empty. */
export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /**
   * The element that the answer's XML holds if the request has succeeded. A long operation begins its answer with status
   * 200 and may end it with an error; and what stands between may answer 200 with a page of its own.
   */
  readonly wanted?: string;
  /** The largest answer that is read. */
  readonly answerBytesMax?: number;
}

/** An answer with a status below 300. */
export interface S3Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

const answerBytesMaxDefault = 4 * 1024 * 1024;
const emptyBytes = new Uint8Array();

/** One bucket. Calls reject with `S3Error`. */
export class S3Client {
  readonly settings: S3Settings;
  readonly #patience: S3Patience;
  readonly #signingKeys = new Map<string, ArrayBuffer>();
  #signer: Promise<typeof AwsV4Signer> | undefined;

  constructor(settings: S3Settings, patience: S3Patience = s3Patience) {
    this.settings = settings;
    this.#patience = patience;
  }

  /** Sends a request until it succeeds, fails for good, or the attempts are used up. */
  async request(request: S3Request): Promise<S3Answer> {
    const { attemptsMax, delayMs, delayMsMax } = this.#patience;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(request);
      } catch (error) {
        if (!(error instanceof S3Error) || !isPassing(error)) throw error;
        if (attempt >= attemptsMax)
          throw new S3Error(error.status, error.code, `${error.message} (${attempt} attempts)`, {
            cause: error,
          });
      }
      const delay = Math.min(delayMsMax, delayMs * 2 ** (attempt - 1));
      await new Promise((resolve) => setTimeout(resolve, delay * (0.5 + Math.random() / 2)));
    }
  }

  /** As `request`; undefined if there is no such object. */
  async find(request: S3Request): Promise<S3Answer | undefined> {
    try {
      return await this.request(request);
    } catch (error) {
      // The answer to HEAD has no code; elsewhere a missing bucket is an error.
      if (error instanceof S3Error && error.status === 404 && error.code !== 'NoSuchBucket') return undefined;
      throw error;
    }
  }

  /** The rest of the names of all objects whose names begin with `prefix`, and hold no further `/`. */
  async list(prefix: string): Promise<readonly string[]> {
    const names: string[] = [];
    for (let token: string | undefined; ;) {
      const more = token === undefined ? {} : { 'continuation-token': token };
      const query = { 'list-type': '2', delimiter: '/', prefix, ...more };
      const wanted = 'ListBucketResult';
      const xml = (await this.request({ method: 'GET', key: '', query, wanted })).body.toString('utf8');
      for (const entry of partsIn(xml, 'Contents'))
        names.push((textIn(entry, 'Key') ?? '').slice(prefix.length));
      token = textIn(xml, 'NextContinuationToken');
      if (textIn(xml, 'IsTruncated') !== 'true') return names.filter((name) => name !== '');
      // With a part taken for the whole, `expire` would remove segments that other backups need.
      if (token === undefined)
        throw this.#broken('a list', 'a part of it, and without the token of the next part');
    }
  }

  /** Begins an upload in parts. Resolves with its id. */
  async beginUpload(key: string): Promise<string> {
    const { body } = await this.request({ method: 'POST', key, query: { uploads: '' } });
    const id = textIn(body.toString('utf8'), 'UploadId');
    if (id === undefined) throw this.#broken(`POST ${key}`, 'no upload id');
    return id;
  }

  /** Uploads a part, from 1 on. Resolves with its tag. */
  async uploadPart(key: string, id: string, part: number, body: Uint8Array): Promise<string> {
    const query = { partNumber: String(part), uploadId: id };
    const tag = (await this.request({ method: 'PUT', key, query, body })).headers.get('etag');
    if (tag === null) throw this.#broken(`PUT ${key}`, 'no tag of a part');
    return tag;
  }

  /** Makes one object of the parts. */
  async endUpload(key: string, id: string, tags: readonly string[]): Promise<void> {
    const parts = tags.map(
      (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`,
    );
    const xml = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
    const headers = { 'content-type': 'application/xml' };
    const asked = { method: 'POST', key, query: { uploadId: id }, headers, body: Buffer.from(xml) } as const;
    try {
      await this.request({ ...asked, wanted: 'CompleteMultipartUploadResult' });
    } catch (error) {
      // An earlier attempt may have succeeded, and its answer was lost.
      if (!(error instanceof S3Error) || error.code !== 'NoSuchUpload') throw error;
      if ((await this.find({ method: 'HEAD', key })) === undefined) throw error;
    }
  }

  /** Drops an upload; no error if there is none. */
  async dropUpload(key: string, id: string): Promise<void> {
    await this.find({ method: 'DELETE', key, query: { uploadId: id } });
  }

  /** Uploads that have begun and not ended, of objects whose names begin with `prefix`; at most 1000. */
  async uploads(prefix: string): Promise<readonly { readonly key: string; readonly id: string }[]> {
    const { body } = await this.request({ method: 'GET', key: '', query: { uploads: '', prefix } });
    return partsIn(body.toString('utf8'), 'Upload').map((entry) => ({
      key: textsIn(entry, 'Key')[0] ?? '',
      id: textsIn(entry, 'UploadId')[0] ?? '',
    }));
  }

  /** Copies an object (of at most 5 GiB) within the bucket. */
  async copy(from: string, to: string): Promise<void> {
    const headers = { 'x-amz-copy-source': `/${this.settings.bucket}/${encodedPath(from)}` };
    await this.request({ method: 'PUT', key: to, headers, wanted: 'CopyObjectResult' });
  }

  #broken(action: string, detail: string): S3Error {
    return new S3Error(200, '', `${this.settings.endpoint} answered ${action} with ${detail}`);
  }

  async #attempt(request: S3Request): Promise<S3Answer> {
    const { settings } = this;
    const body = request.body ?? emptyBytes;
    const action = `${request.method} s3://${settings.bucket}/${request.key}`;
    const signer = await this.#signed(request, body);
    try {
      const response = await fetch(signer.url, {
        method: request.method,
        headers: signer.headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(this.#patience.timeoutMs),
        ...(request.body === undefined ? {} : { body: request.body }),
      });
      const bytesMax = response.ok
        ? (request.answerBytesMax ?? answerBytesMaxDefault)
        : answerBytesMaxDefault;
      const answer = await bodyOf(response, bytesMax);
      if (response.ok) {
        if (request.wanted !== undefined) this.#mustHold(request.wanted, action, answer.toString('utf8'));
        return { status: response.status, headers: response.headers, body: answer };
      }
      const region = response.headers.get('x-amz-bucket-region') ?? undefined;
      throw refusalOf(settings, action, { status: response.status, body: answer.toString('utf8'), region });
    } catch (error) {
      if (error instanceof S3Error) throw error;
      throw unreachable(settings, action, error);
    }
  }

  /** Throws unless the answer, of status 200, is the one of a success. */
  #mustHold(element: string, action: string, xml: string): void {
    if (new RegExp(`<${element}[ />]`).test(xml)) return;
    if (/<Error[ >]/.test(xml))
      throw refusalOf(this.settings, action, { status: 500, body: xml, region: undefined });
    throw this.#broken(action, `no ${element}; is something else at this address?`);
  }

  async #signed(
    { method, key, query, headers }: S3Request,
    body: Uint8Array,
  ): Promise<{ readonly url: URL; readonly headers: Headers }> {
    const { settings } = this;
    const { accessKeyId, secretAccessKey, sessionToken, region } = settings;
    // Loaded only if a bucket is used.
    this.#signer ??= import('aws4fetch').then((library) => library.AwsV4Signer);
    const Signer = await this.#signer;
    const sum = createHash('sha256').update(body).digest('hex');
    const signer = new Signer({
      method,
      url: this.#urlOf(key, query).href,
      headers: { ...headers, 'x-amz-content-sha256': sum },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      service: 's3',
      region,
      cache: this.#signingKeys,
    });
    return signer.sign();
  }

  #urlOf(key: string, query: S3Request['query'] = {}): URL {
    const { endpoint, bucket, pathStyle } = this.settings;
    const url = new URL(endpoint);
    if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`;
    url.pathname = `/${pathStyle ? `${bucket}${key === '' ? '' : '/'}` : ''}${encodedPath(key)}`;
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  }
}

/** Reads a body. Rejects once it is larger than `bytesMax`. */
async function bodyOf(response: Response, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const stream: ReadableStream<Uint8Array> | null = response.body;
  const reader = stream?.getReader();
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    const chunk = read.value;
    bytes += chunk.length;
    if (bytes > bytesMax) {
      await reader?.cancel();
      throw new S3Error(response.status, '', `an answer is larger than ${bytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

function encodedPath(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
