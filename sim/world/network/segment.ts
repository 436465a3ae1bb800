/** What a pipe sends in one event: bytes, and marks at their edges. */
import type { FaultId } from '../core/fault-log.ts';
import type { TimelineEvent } from '../core/timeline.ts';

/** The pipe that carries segments; called when one comes due. Returns whether code of the engine ran. */
export interface Carrier {
  arrive(segment: Segment): boolean;
}

/** One segment. */
export class Segment implements TimelineEvent {
  readonly owner = undefined;
  readonly carrier: Carrier;
  readonly turn: number;
  /** The connection begins with it. */
  readonly opens: boolean;
  /** It resets the connection; `cause` is the fault that did it, if one did. */
  readonly reset: boolean;
  readonly cause: FaultId | undefined;
  /** The sender will send no more. */
  ends = false;
  length = 0;
  #first: Uint8Array | undefined;
  #more: Uint8Array[] | undefined;

  constructor(carrier: Carrier, turn: number, mark: 'opens' | 'reset' | 'none', cause?: FaultId) {
    this.carrier = carrier;
    this.turn = turn;
    this.opens = mark === 'opens';
    this.reset = mark === 'reset';
    this.cause = cause;
  }

  add(bytes: Uint8Array): void {
    this.length += bytes.length;
    if (this.#first === undefined) this.#first = bytes;
    else (this.#more ??= []).push(bytes);
  }

  /** Its bytes as one run. */
  bytes(): Uint8Array {
    const first = this.#first ?? new Uint8Array(0);
    if (this.#more === undefined) return first;
    const joined = Buffer.allocUnsafe(this.length);
    joined.set(first);
    let at = first.length;
    for (const chunk of this.#more) {
      joined.set(chunk, at);
      at += chunk.length;
    }
    return joined;
  }

  happen(): boolean {
    return this.carrier.arrive(this);
  }
}
