/**
 * Bounds the bytes of incomplete requests that this node holds for all clients together. A session's own limits bound one
 * connection. Without a common bound, slow uploads could take as many times the largest value as there are connections.
 *
 * A quarter is reserved for small requests, so that they proceed while large uploads are stuck. One large request is
 * always received, however little is left, so the largest accepted value can be sent. A request beyond the bound is
 * refused and does not wait: requests that wait for each other's bytes would all wait until their deadlines.
 *
 * What connections hold between their requests (`redis/transaction-memory.ts`) has a part of its own, a quarter as much
 * again: a client may hold it for as long as it likes, and must not keep others from sending requests.
 */
import { LockstepError } from '../../base/errors.ts';
import type { BodyBudget } from '../../io/http.ts';
import type { FamilySource } from '../../metrics/family.ts';
import { counterOf } from '../../metrics/family.ts';

/** The most bytes of a request that counts as small. */
export const smallRequestBytes = 64 * 1024;

/** The budget of one node; all client listeners share it. */
export class RequestBudget implements BodyBudget {
  /** The part for what connections hold between their requests. */
  readonly waiting: BodyBudget & { readonly heldBytes: number };
  readonly #bytesMax: number;
  /** Bytes held now by small requests; below, those of large ones. */
  #smallBytes = 0;
  #largeBytes = 0;
  #refused = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.waiting = new WaitingBudget(bytesMax, () => (this.#refused += 1));
  }

  /** Bytes held now, small and large requests together. */
  get heldBytes(): number {
    return this.#smallBytes + this.#largeBytes;
  }

  /** Whether a request that will have `bytes` bytes may begin to arrive. */
  hasRoomFor(bytes: number): boolean {
    // A small request may arrive in one piece, and then holds nothing while it arrives.
    return !isLarge(bytes) || this.#fits(0, bytes);
  }

  /** Changes what a request holds from `held` to `wanted` bytes; false, with no effect, if that exceeds its share. */
  resize(held: number, wanted: number): boolean {
    if (wanted > held && !this.#fits(held, wanted)) return false;
    this.#add(held, -held);
    this.#add(wanted, wanted);
    return true;
  }

  /** Counts a refused request and returns the `Overloaded` error for it. */
  refuse(): LockstepError {
    this.#refused += 1;
    return new LockstepError(
      'Overloaded',
      `requests of all clients that are being received hold ${this.heldBytes} bytes, and this one is too much (allowed: ${this.#bytesMax} bytes, client_request_bytes_max); try again later`,
    );
  }

  /** The metric family of refused requests. */
  families(): readonly FamilySource[] {
    return [
      counterOf(
        'svc_client_requests_refused_total',
        'Requests refused because all clients together held as much as they may: of requests that are being received, or of queued commands and watched values.',
        () => this.#refused,
      ),
    ];
  }

  #fits(held: number, wanted: number): boolean {
    const small = this.#bytesMax / 4;
    if (!isLarge(wanted)) return this.#smallBytes - held + wanted <= small;
    const others = this.#largeBytes - (isLarge(held) ? held : 0);
    return others === 0 || others + wanted <= this.#bytesMax - small;
  }

  /** Adds `bytes`, which may be negative, to the share of a request of `size` bytes. */
  #add(size: number, bytes: number): void {
    if (isLarge(size)) this.#largeBytes += bytes;
    else this.#smallBytes += bytes;
  }
}

/** What connections hold between their requests: a quarter of the budget, or one connection alone. */
class WaitingBudget implements BodyBudget {
  readonly #bytesMax: number;
  readonly #refused: () => void;
  #bytes = 0;

  /** `bytesMax`: of the whole budget. `refused`: counts a refusal. */
  constructor(bytesMax: number, refused: () => void) {
    this.#bytesMax = bytesMax;
    this.#refused = refused;
  }

  get heldBytes(): number {
    return this.#bytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#fits(0, bytes);
  }

  resize(held: number, wanted: number): boolean {
    if (wanted > held && !this.#fits(held, wanted)) return false;
    this.#bytes += wanted - held;
    return true;
  }

  refuse(): LockstepError {
    this.#refused();
    return new LockstepError(
      'Overloaded',
      `commands that wait for EXEC and values under WATCH, of all clients, hold ${this.#bytes} bytes, and this is too much (allowed: a quarter of ${this.#bytesMax} bytes, client_request_bytes_max); try again later`,
    );
  }

  #fits(held: number, wanted: number): boolean {
    const others = this.#bytes - held;
    return others === 0 || others + wanted <= this.#bytesMax / 4;
  }
}

/** The bytes of the budget that one connection holds. */
export class RequestShare {
  readonly #budget: BodyBudget;
  #bytes = 0;

  constructor(budget: BodyBudget) {
    this.#budget = budget;
  }

  /** Holds `bytes` bytes from now on. False if the budget refuses; the share then holds what it held before. */
  hold(bytes: number): boolean {
    if (bytes === this.#bytes) return true;
    if (!this.#budget.resize(this.#bytes, bytes)) return false;
    this.#bytes = bytes;
    return true;
  }
}

function isLarge(bytes: number): boolean {
  return bytes > smallRequestBytes;
}
