/** A client observer that records every call. */
import type { ErrorCode } from '../../base/errors.ts';
import type { ClientObserver, ClientProtocol, Operation } from '../client-observer.ts';

/** A `ClientObserver` that counts calls by name. */
export class TallyingObserver implements ClientObserver {
  readonly counts = new Map<string, number>();
  /** `NoTargets write`, followed by the level if the request named one. */
  readonly causes: string[] = [];
  readonly payloads: number[] = [];
  readonly latencies: number[] = [];
  /** `pbc get`, in the order of the answers. */
  readonly operations: string[] = [];
  outQueueMax = 0;

  opened(): void {
    this.#count('opened');
  }

  closed(cause: 'eof' | 'error' | 'closedHere'): void {
    this.#count(`closed ${cause}`);
  }

  received(purpose: 'read' | 'write'): void {
    this.#count(purpose);
  }

  answered(latencyUs: number, protocol: ClientProtocol, operation: Operation): void {
    this.latencies.push(latencyUs);
    this.operations.push(`${protocol} ${operation}`);
  }

  timesOf(): undefined {
    return undefined;
  }

  dropped(): void {
    this.#count('dropped');
  }

  failed(): void {
    this.#count('failed');
  }

  caused(code: ErrorCode, purpose: 'read' | 'write', level: string | undefined): void {
    this.causes.push([code, purpose, ...(level === undefined ? [] : [level])].join(' '));
  }

  payload(bytes: number): void {
    this.payloads.push(bytes);
  }

  fragmented(count: number): void {
    this.#count(`fragmented ${count}`);
  }

  outQueue(length: number): void {
    this.outQueueMax = Math.max(this.outQueueMax, length);
  }

  /** `opened 1, read 2`, in the order of each name's first call. */
  describe(): string {
    return [...this.counts].map(([what, count]) => `${what} ${count}`).join(', ');
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}
