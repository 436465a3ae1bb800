/**
 * What all clients together may have this node hold of requests that are not whole yet: bytes that are here but cannot be
 * served. A session's own limits bound one connection; without a common one, many slow uploads are as much memory as
 * there are connections times the largest value.
 *
 * A quarter is kept for small requests, so that those go on while large uploads are stuck. One large request is always
 * received, however little is left for it: the largest value that is accepted can be sent. Who goes beyond is refused,
 * and does not wait: requests that wait for each other's bytes would all wait until they are late.
 */
import { LockstepError } from '../../base/errors.ts';
import type { BodyBudget } from '../../io/http.ts';
import type { FamilySource } from '../../metrics/family.ts';

/** Bytes of a request that counts as small. */
export const smallRequestBytes = 64 * 1024;

export class RequestBudget implements BodyBudget {
  readonly #bytesMax: number;
  /** Held now, by the share that they count towards. */
  #smallBytes = 0;
  #largeBytes = 0;
  #refused = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes held now. */
  get heldBytes(): number {
    return this.#smallBytes + this.#largeBytes;
  }

  hasRoomFor(bytes: number): boolean {
    // A small one may come in one piece, and hold nothing while it comes.
    return !isLarge(bytes) || this.#fits(0, bytes);
  }

  resize(held: number, wanted: number): boolean {
    if (wanted > held && !this.#fits(held, wanted)) return false;
    this.#add(held, -held);
    this.#add(wanted, wanted);
    return true;
  }

  refuse(): LockstepError {
    this.#refused += 1;
    return new LockstepError(
      'Overloaded',
      `requests of all clients that are being received hold ${this.heldBytes} bytes, and this one is too much (allowed: ${this.#bytesMax} bytes, client_request_bytes_max); try again later`,
    );
  }

  families(): readonly FamilySource[] {
    return [
      {
        name: 'svc_client_requests_refused_total',
        help: 'Requests refused while they were received, because those of all clients held as much as they may.',
        type: 'counter',
        labels: [],
        collect: () => [{ labels: {}, value: this.#refused }],
      },
    ];
  }

  #fits(held: number, wanted: number): boolean {
    const small = this.#bytesMax / 4;
    if (!isLarge(wanted)) return this.#smallBytes - held + wanted <= small;
    const others = this.#largeBytes - (isLarge(held) ? held : 0);
    return others === 0 || others + wanted <= this.#bytesMax - small;
  }

  /** `bytes` more for a request of that size. */
  #add(size: number, bytes: number): void {
    if (isLarge(size)) this.#largeBytes += bytes;
    else this.#smallBytes += bytes;
  }
}

/** What one connection holds of it. */
export class RequestShare {
  readonly #budget: BodyBudget;
  #bytes = 0;

  constructor(budget: BodyBudget) {
    this.#budget = budget;
  }

  /** It holds that much now; false: it may not, and holds what it held. */
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
