/** What the process that takes a backup and the nodes say to each other, as JSON over each node's HTTP listener. */

/** The longest time for which a node holds its writes back without hearing from the backup. */
export const leaseMsMax = 10_000;

/** The most bytes of one read. */
export const chunkBytesMax = 1024 * 1024;

/** The answer to `POST /backup/hold`. */
export interface HoldAnswer {
  readonly node: string;
  readonly datacenter: string;
  readonly rack: string;
  readonly cluster_id: string;
  readonly incarnation: number;
  readonly view: string;
  readonly members: readonly string[];
}

/** A transaction that waited for an outcome at the moment of the cut. */
export interface OpenTransaction {
  readonly id: string;
  readonly role: string;
  readonly state: string;
}

/** One segment of the cut. */
export interface SegmentFacts {
  readonly number: number;
  readonly kind: 'log' | 'merge';
  readonly sealed: boolean;
  readonly bytes: number;
  readonly seq_min: number;
  readonly seq_max: number;
  readonly damaged: boolean;
}

/** The answer to `POST /backup/cut`. */
export interface CutAnswer {
  readonly store_id: string;
  readonly created_ms: number;
  readonly transactions: readonly OpenTransaction[];
  readonly segments: readonly SegmentFacts[];
}

/** The answer to `POST /backup/release`. */
export interface ReleaseAnswer {
  /** The backup has held this node's writes without a break since its hold. */
  readonly held: boolean;
  readonly view: string;
  readonly incarnation: number;
}

/** One node as the backup asks it. Calls reject with the node's error, or if it cannot be asked. */
export interface BackupNode {
  /** Where it is, for messages to people. */
  readonly address: string;
  hold(id: string, leaseMs: number): Promise<HoldAnswer>;
  cut(id: string): Promise<CutAnswer>;
  release(id: string): Promise<ReleaseAnswer>;
  read(id: string, segment: number, from: number, bytes: number): Promise<Uint8Array>;
  end(id: string): Promise<void>;
}

/** Sends one request to one node, and resolves with its answer of any status. Rejects if none arrives. */
export type NodeTransport = (
  method: 'GET' | 'POST',
  path: string,
  body?: Uint8Array,
) => Promise<{ readonly status: number; readonly body: Uint8Array }>;

/** A node that is reached over its HTTP listener. */
export class HttpBackupNode implements BackupNode {
  readonly address: string;
  readonly #send: NodeTransport;

  constructor(address: string, send: NodeTransport) {
    this.address = address;
    this.#send = send;
  }

  hold(id: string, leaseMs: number): Promise<HoldAnswer> {
    return this.#post('hold', { id, lease_ms: leaseMs });
  }

  cut(id: string): Promise<CutAnswer> {
    return this.#post('cut', { id });
  }

  release(id: string): Promise<ReleaseAnswer> {
    return this.#post('release', { id });
  }

  async end(id: string): Promise<void> {
    await this.#post('end', { id });
  }

  async read(id: string, segment: number, from: number, bytes: number): Promise<Uint8Array> {
    const { status, body } = await this.#send(
      'GET',
      `/backup/${id}/segments/${segment}?from=${from}&bytes=${bytes}`,
    );
    if (status !== 200) throw this.#refusal(status, body);
    return body;
  }

  async #post<T>(step: string, said: object): Promise<T> {
    const { status, body } = await this.#send('POST', `/backup/${step}`, Buffer.from(JSON.stringify(said)));
    if (status !== 200) throw this.#refusal(status, body);
    return JSON.parse(Buffer.from(body).toString('utf8')) as T;
  }

  #refusal(status: number, body: Uint8Array): Error {
    const text = Buffer.from(body).toString('utf8').trim();
    let detail = text;
    try {
      const problem = JSON.parse(text) as { readonly detail?: unknown };
      if (typeof problem.detail === 'string') detail = problem.detail;
    } catch {
      // The whole answer says it.
    }
    const hint = status === 401 || status === 403 ? '; a backup needs a token of an admin' : '';
    return new Error(`${this.address} refused (${status}): ${detail}${hint}`);
  }
}
