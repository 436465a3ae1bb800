/** Sends the commands' requests to a running node, over HTTP or HTTPS, with a token if one is given. */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request as plainRequest } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import type { Command } from 'commander';

import { tokenFrom } from '../files/node-token.ts';
import { UsageError } from '../exit-codes.ts';
import { readOpenFile } from '../files/secret-files.ts';

const defaultTimeoutMs = 10_000;
/** The most bytes of an answer to an operator: a node lists all of its transactions in doubt, and all bucket types. */
export const answerBytesMax = 16 * 1024 * 1024;
const caBytesMax = 1024 * 1024;

/** Options of a request to a node: the file of the token, and the CA certificate to trust. */
export interface AskingOptions {
  readonly tokenFile?: string;
  readonly ca?: string;
}

/** Adds these options to a command. */
export function withAskingOptions(command: Command): Command {
  return command
    .option('--token-file <file>', 'the token to show; without, LOCKSTEP_TOKEN of the environment')
    .option('--ca <file>', 'speak TLS, and believe nodes that this CA has signed (PEM)');
}

/** A node's answer: the HTTP status and the body. */
export interface NodeAnswer {
  readonly status: number;
  readonly text: string;
}

/** The methods that commands use. */
export type ExchangeMethod = 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';

/** A request beyond its method and path. */
export interface Exchange {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Without: a connection of its own. */
  readonly agent?: KeptConnections;
  /** The longest silence. */
  readonly timeoutMs?: number;
  readonly answerBytesMax: number;
}

/** A whole answer of any kind. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Connections that are kept for further requests, at most `count` to a node. The command must call `close`. */
export class KeptConnections {
  readonly plain: Agent;
  readonly secure: SecureAgent;

  constructor(count: number) {
    this.plain = new Agent({ keepAlive: true, maxSockets: count });
    this.secure = new SecureAgent({ keepAlive: true, maxSockets: count });
  }

  /** Closes all connections. */
  close(): void {
    this.plain.destroy();
    this.secure.destroy();
  }
}

/** The node answered with another status than expected: it refused the request. */
export class NodeRefusal extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** A client of one node's HTTP listener. */
export class NodeClient {
  readonly #origin: string;
  readonly #token: string | undefined;
  readonly #ca: Buffer | undefined;

  /**
   * `address` is `host:port`, or an origin (`https://host:port`), whose scheme decides. Without a scheme the client
   * uses TLS if `secure` or `--ca` is given. Throws `UsageError`, or `ConfigInvalid` for a file that cannot be used.
   */
  constructor(address: string, options: AskingOptions, environment: NodeJS.ProcessEnv, secure = false) {
    const named = /^https?:\/\//.test(address);
    const scheme = secure || options.ca !== undefined ? 'https' : 'http';
    this.#origin = named ? address.replace(/\/+$/, '') : `${scheme}://${address}`;
    if (named && options.ca !== undefined && !this.#origin.startsWith('https:'))
      throw new UsageError(
        `${address} is plain HTTP, and --ca asks for TLS; write https://, or leave --ca out`,
      );
    if (!URL.canParse(this.#origin)) throw new UsageError(`${address} is not an address; allowed: host:port`);
    this.#token = tokenFrom(options.tokenFile, environment);
    this.#ca = options.ca === undefined ? undefined : readOpenFile(options.ca, caBytesMax, 'CA certificate');
  }

  /** The node's origin, for example `http://127.0.0.1:8098`. */
  get origin(): string {
    return this.#origin;
  }

  /** The body of an answer with the expected status. Rejects with `NodeRefusal`, which says why, on another status. */
  async obtain(expected: number, ...asked: Parameters<NodeClient['ask']>): Promise<string> {
    const { status, text } = await this.ask(...asked);
    if (status === expected) return text;
    throw this.refusal(status, text);
  }

  /** Sends a request with the body `json`. Rejects, with the reason, if no answer of at most 16 MiB arrives. */
  async ask(method: 'GET' | 'POST', path: string, json?: string): Promise<NodeAnswer> {
    const sent =
      json === undefined ? {} : { headers: { 'Content-Type': 'application/json' }, body: Buffer.from(json) };
    const { status, body } = await this.exchange(method, path, { ...sent, answerBytesMax });
    return { status, text: body.toString('utf8') };
  }

  /**
   * Sends a request, over one of the kept connections if `agent` is given. Rejects, with the reason, if no answer of at
   * most `answerBytesMax` bytes arrives, or none for `timeoutMs` (10 seconds unless given).
   */
  exchange(method: ExchangeMethod, path: string, asked: Exchange): Promise<WholeAnswer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const { answerBytesMax: bytesMax } = asked;
      const request = this.#send(method, path, asked, reject, (response) => {
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          bytes += chunk.length;
          if (bytes > bytesMax) request.destroy(new Error(`the answer is longer than ${bytesMax} bytes`));
        });
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
          }),
        );
      });
    });
  }

  /**
   * Sends a request whose answer the caller reads as a stream, of any length. Rejects with `NodeRefusal` if the status
   * is not 200, else as `exchange` does.
   */
  stream(path: string, asked: Exchange): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      this.#send('GET', path, asked, reject, (response) => {
        if (response.statusCode === 200) {
          resolve(response);
          return;
        }
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk.slice(0, answerBytesMax - text.length)));
        response.on('end', () => reject(this.refusal(response.statusCode ?? 0, text)));
      });
    });
  }

  /** The error for an answer with another status than the caller expects. */
  refusal(status: number, text: string): NodeRefusal {
    return new NodeRefusal(`${this.origin} refused: ${problemOf(status, text.trim())}`, status);
  }

  #send(
    method: ExchangeMethod,
    path: string,
    { headers: given = {}, body, agent, timeoutMs = defaultTimeoutMs }: Exchange,
    failed: (error: Error) => void,
    answered: (response: IncomingMessage) => void,
  ): ClientRequest {
    const url = new URL(this.#origin);
    // As it is: a URL has no segments of one or two dots, which names of buckets and keys may be.
    const target = url.pathname.replace(/\/$/, '') + path;
    const headers = {
      ...(this.#token === undefined ? {} : { Authorization: `Bearer ${this.#token}` }),
      ...(body === undefined ? {} : { 'Content-Length': body.length }),
      ...given,
    };
    const tls = this.#ca === undefined ? {} : { ca: this.#ca };
    const secure = url.protocol === 'https:';
    const kept = agent === undefined ? false : secure ? agent.secure : agent.plain;
    const fail = (error: Error): void =>
      failed(new Error(`${this.#origin}${path} cannot be asked: ${reasonOf(error)}`, { cause: error }));
    const send = secure ? secureRequest : plainRequest;
    const options = { method, path: target, headers, timeout: timeoutMs, agent: kept, ...tls };
    const request = send(url, options, (response) => {
      response.on('error', fail);
      answered(response);
    });
    request.on('timeout', () => request.destroy(new Error(`no answer in ${timeoutMs / 1000} s`)));
    request.on('error', fail);
    request.end(body);
    return request;
  }
}

/** Why the node refused: the `detail` of its JSON answer, else the whole body; with a hint on what to do. */
function problemOf(status: number, body: string): string {
  const hint =
    status === 401 ? '; show a token that has the right: --token-file FILE, or LOCKSTEP_TOKEN' : '';
  return detailOf(body) + hint;
}

function detailOf(body: string): string {
  try {
    const problem: unknown = JSON.parse(body);
    const detail: unknown =
      typeof problem === 'object' && problem !== null ? Reflect.get(problem, 'detail') : '';
    return typeof detail === 'string' && detail !== '' ? detail : body;
  } catch {
    return body;
  }
}

/** Whether an error of `ask` means that no process listens there, or that the process ended during the answer. */
export function isNobody({ cause }: Error): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return code === 'ECONNREFUSED' || code === 'ECONNRESET';
}

const unsentCodes =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|CERT_|ERR_TLS)/;

/** Whether an error of a request means that nothing of it has reached a node. */
export function isUnsent(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  // Every failure of a request that was begun has a cause.
  return !(cause instanceof Error) || ('code' in cause && unsentCodes.test(String(cause.code)));
}

/** The error's message, with what to do next if the message alone does not say it. */
function reasonOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  if (/^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO)/.test(code)) {
    return `${error.message}; name the CA that has signed its certificate: --ca FILE`;
  }
  if (code === 'ECONNRESET') return `${error.message}; does it speak TLS? then say --ca FILE, or https://`;
  return error.message;
}
