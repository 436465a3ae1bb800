/** How commands ask a running node: over HTTP or HTTPS, with a token where one is given. */
import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Command } from 'commander';

import { tokenFrom } from './node-token.ts';
import { UsageError } from './exit-codes.ts';
import { readOpenFile } from './secret-files.ts';

const timeoutMs = 10_000;
const answerBytesMax = 1024 * 1024;
const caBytesMax = 1024 * 1024;

/** The options that say how a node is asked. */
export interface AskingOptions {
  readonly tokenFile?: string;
  readonly ca?: string;
}

export function withAskingOptions(command: Command): Command {
  return command
    .option('--token-file <file>', 'the token to show; without, LOCKSTEP_TOKEN of the environment')
    .option('--ca <file>', 'speak TLS, and believe nodes that this CA has signed (PEM)');
}

export interface NodeAnswer {
  readonly status: number;
  readonly text: string;
}

/** The node has answered, and did not do what it was asked. */
export class NodeRefusal extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

export class NodeClient {
  readonly #origin: string;
  readonly #token: string | undefined;
  readonly #ca: Buffer | undefined;

  /**
   * `address` is `host:port`, or an origin (`https://host:port`). TLS is spoken to `https:`, with `--ca`, and where
   * `secure` says that the node does. Throws `UsageError`, or `ConfigInvalid` for a file that is not right.
   */
  constructor(address: string, options: AskingOptions, environment: NodeJS.ProcessEnv, secure = false) {
    const named = /^https?:\/\//.test(address);
    const scheme = secure || options.ca !== undefined ? 'https' : 'http';
    this.#origin = named ? address.replace(/\/+$/, '') : `${scheme}://${address}`;
    if (!URL.canParse(this.#origin)) throw new UsageError(`${address} is no address; allowed: host:port`);
    this.#token = tokenFrom(options.tokenFile, environment);
    this.#ca = options.ca === undefined ? undefined : readOpenFile(options.ca, caBytesMax, 'CA certificate');
  }

  get origin(): string {
    return this.#origin;
  }

  /** The body of the answer, which is to have this status. Rejects when it has another, with why the node refused. */
  async obtain(expected: number, ...asked: Parameters<NodeClient['ask']>): Promise<string> {
    const { status, text } = await this.ask(...asked);
    if (status === expected) return text;
    throw new NodeRefusal(`${this.origin} refused: ${problemOf(status, text)}`, status);
  }

  /** `json` is the body. Rejects when the node cannot be asked, with a sentence that says why. */
  ask(method: 'GET' | 'POST', path: string, json?: string): Promise<NodeAnswer> {
    const url = new URL(this.#origin + path);
    const headers = {
      ...(this.#token === undefined ? {} : { Authorization: `Bearer ${this.#token}` }),
      ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
    };
    const tls = this.#ca === undefined ? {} : { ca: this.#ca };
    const send = url.protocol === 'https:' ? secureRequest : plainRequest;
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void =>
        reject(new Error(`${url.href} cannot be asked: ${reasonOf(error)}`, { cause: error }));
      const request = send(url, { method, headers, timeout: timeoutMs, agent: false, ...tls }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
          if (text.length > answerBytesMax) request.destroy(new Error('the answer is too long'));
        });
        response.on('error', fail);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      request.on('timeout', () => request.destroy(new Error(`no answer in ${timeoutMs / 1000} s`)));
      request.on('error', fail);
      request.end(json);
    });
  }
}

/** Why the node refused: the detail of its problem, or the whole of any other answer, and what to do about it. */
function problemOf(status: number, body: string): string {
  const hint = status === 401 ? '; show a token of an admin: --token-file FILE, or LOCKSTEP_TOKEN' : '';
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

/** Of an error of `ask`: nobody listens there, or whoever did has ended amid the answer. */
export function isNobody({ cause }: Error): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return code === 'ECONNREFUSED' || code === 'ECONNRESET';
}

/** What to do next, where the reason alone leaves that open. */
function reasonOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  if (/^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO)/.test(code)) {
    return `${error.message}; name the CA that has signed its certificate: --ca FILE`;
  }
  if (code === 'ECONNRESET') return `${error.message}; does it speak TLS? then say --ca FILE, or https://`;
  return error.message;
}
