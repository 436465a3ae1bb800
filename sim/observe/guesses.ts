/** Requests over HTTP with a token of nobody's: a node counts them at once, and answers them a moment later. */
import { worldTokens } from '../world/cluster/world-credentials.ts';

const headBytesMax = 4_096;
const known: ReadonlySet<string> = new Set(Object.values(worldTokens));

export class Guesses {
  /** Heads of requests, as far as they have come. */
  readonly #heads = new Map<number, string>();
  readonly #open = new Set<number>();
  #abandoned = 0;

  /** Counted by the node, but not answered yet, or never. */
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

  answered(id: number): void {
    this.#open.delete(id);
  }

  closed(id: number): void {
    this.#heads.delete(id);
    if (this.#open.delete(id)) this.#abandoned += 1;
  }
}
