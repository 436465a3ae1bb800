/** Tracks HTTP requests with an unknown token: a node counts such a request at once and answers it a moment later. */
import { worldTokens } from '../world/cluster/world-credentials.ts';

const headBytesMax = 4_096;
const known: ReadonlySet<string> = new Set(Object.values(worldTokens));

/** Requests with unknown tokens on the connections of one listener. */
export class Guesses {
  /** Heads of requests, as far as they have arrived, by connection. */
  readonly #heads = new Map<number, string>();
  readonly #open = new Set<number>();
  #abandoned = 0;

  /** Requests that the node has counted but not answered, or will never answer. */
  get unanswered(): number {
    return this.#open.size + this.#abandoned;
  }

  heard(id: number, bytes: Uint8Array): void {
    const before = this.#heads.get(id) ?? '';
    if (before.length >= headBytesMax || this.#open.has(id)) return;
    const head = before + Buffer.from(bytes).toString('latin1');
    this.#heads.set(id, head);
    const token = /\r\nAuthorization: Bearer ([^\r]*)\r\n/.exec(head)?.[1];
    if (token !== undefined && !known.has(token) && head.includes('\r\n\r\n')) this.#open.add(id);
  }

  /** Whether the connection's request carries a guessed token and is not answered. */
  has(id: number): boolean {
    return this.#open.has(id);
  }

  answered(id: number): void {
    this.#open.delete(id);
  }

  closed(id: number): void {
    this.#heads.delete(id);
    if (this.#open.delete(id)) this.#abandoned += 1;
  }
}
