/** The simulator in a worker: decompressed from the page itself, started at the first question. */
import type { Answer, Answered, Asked } from '../../sim/browser/protocol.ts';

/** Unpacks data of the page: base64 of gzip. */
export async function unpack(element: HTMLElement): Promise<string> {
  const base64 = element.textContent.trim();
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).text();
}

/** The worker, and the questions that it has not answered. */
export class Simulator {
  readonly #element: HTMLElement;
  readonly #waiting = new Map<number, (answer: Answered) => void>();
  #worker: Promise<Worker> | undefined;
  #asked = 0;

  constructor(element: HTMLElement) {
    this.#element = element;
  }

  /** Why the page has no simulator; empty if it has one. */
  get missing(): string {
    return this.#element.dataset['missing'] ?? '';
  }

  /** Asks; resolves with the answer, which may be `failed`. */
  async ask(asked: Asked): Promise<Answered> {
    this.#worker ??= this.#start();
    const worker = await this.#worker;
    const id = (this.#asked += 1);
    const answer = new Promise<Answered>((resolve) => this.#waiting.set(id, resolve));
    worker.postMessage({ id, ...asked });
    return answer;
  }

  async #start(): Promise<Worker> {
    const code = await unpack(this.#element);
    const worker = new Worker(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })));
    worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      this.#waiting.get(data.id)?.(data);
      this.#waiting.delete(data.id);
    };
    worker.onerror = ({ message }) => {
      for (const settle of this.#waiting.values()) settle({ kind: 'failed', message });
      this.#waiting.clear();
    };
    return worker;
  }
}
