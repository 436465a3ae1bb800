/**
 * Scrapes stats listeners over persistent connections, on a thread of its own and with little work: a scraper usually
 * is another machine and must not slow down the measured load.
 */
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

/** The path to request from all of these listeners of this machine. */
export interface Scrape {
  readonly ports: readonly number[];
  readonly paths: readonly string[];
}

/** Empty, or the error. */
type Done = string;

/** The scraping thread. */
export class Scraper {
  readonly #worker = new Worker(new URL(import.meta.url));

  /** Resolves once all listeners have answered completely; rejects if one does not. One call at a time. */
  scrape(wanted: Scrape): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#worker.once('message', (done: Done) => {
        if (done === '') resolve();
        else reject(new Error(done));
      });
      this.#worker.postMessage(wanted);
    });
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** A connection to a stats listener: one request at a time. */
class Scraped {
  readonly #socket: Socket;
  #missingBytes = 0;
  #done: ((error?: Error) => void) | undefined;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.setNoDelay(true);
    this.#socket.on('data', (chunk) => this.#hear(chunk));
    this.#socket.on('error', (error) => this.#finish(error));
    this.#socket.on('close', () => this.#finish(new Error(`the stats listener of ${port} has closed`)));
  }

  ask(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#done = (error) => {
        if (error === undefined) resolve();
        else reject(error);
      };
      this.#socket.write(requestOf(path));
    });
  }

  #hear(chunk: Buffer): void {
    if (this.#missingBytes > 0) this.#missingBytes -= chunk.length;
    else {
      const headBytes = chunk.indexOf('\r\n\r\n') + 4;
      const head = chunk.toString('latin1', 0, headBytes);
      const length = /^HTTP\/1\.1 200 [^]*\r\nContent-Length: ([0-9]+)\r\n/.exec(head)?.[1];
      if (length === undefined) {
        this.#finish(new Error(`a stats listener answered ${head}`));
        return;
      }
      this.#missingBytes = Number(length) - (chunk.length - headBytes);
    }
    if (this.#missingBytes === 0) this.#finish();
  }

  #finish(error?: Error): void {
    const done = this.#done;
    this.#done = undefined;
    done?.(error);
  }
}

/** The headers that a Prometheus server sends. */
function requestOf(path: string): string {
  return [
    `GET ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'User-Agent: Prometheus/2.42.0',
    'Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
    'Accept-Encoding: gzip',
    'X-Prometheus-Scrape-Timeout-Seconds: 0.5',
    '\r\n',
  ].join('\r\n');
}

function serve(): void {
  const known = new Map<number, Scraped>();
  const ask = async (port: number, paths: readonly string[]): Promise<void> => {
    const scraped = known.get(port) ?? new Scraped(port);
    known.set(port, scraped);
    for (const path of paths) await scraped.ask(path);
  };
  parentPort?.on('message', ({ ports, paths }: Scrape) => {
    Promise.all(ports.map((port) => ask(port, paths))).then(
      () => parentPort?.postMessage('' satisfies Done),
      (error: unknown) => parentPort?.postMessage(String(error) satisfies Done),
    );
  });
}

if (!isMainThread) serve();
