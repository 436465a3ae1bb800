/**
 * Fetches `/metrics` as Prometheus does, over connections that stay, on a thread of its own: a scraper is another process
 * as a rule, and must not hold up the load that it is measured against.
 */
import { Agent, get } from 'node:http';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

/** The statistics listeners to fetch from, by their ports on this machine. */
type Wanted = readonly number[];
/** Empty, or what went wrong. */
type Done = string;

export class Scraper {
  readonly #worker = new Worker(new URL(import.meta.url));

  /** Resolves when all of them have answered whole; rejects when one does not. One call at a time. */
  scrape(ports: Wanted): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#worker.once('message', (done: Done) => {
        if (done === '') resolve();
        else reject(new Error(done));
      });
      this.#worker.postMessage(ports);
    });
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}

function serve(agent: Agent): void {
  parentPort?.on('message', (ports: Wanted) => {
    Promise.all(ports.map((port) => fetchFrom(port, agent))).then(
      () => parentPort?.postMessage('' satisfies Done),
      (error: unknown) => parentPort?.postMessage(String(error) satisfies Done),
    );
  });
}

function fetchFrom(port: number, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path: '/metrics', agent }, (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`/metrics answered ${response.statusCode ?? 0}`));
      });
    });
    request.on('error', reject);
  });
}

if (!isMainThread) serve(new Agent({ keepAlive: true }));
