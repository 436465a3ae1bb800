/** A `PeerObserver` that counts the reported events by name, for the tests of the peer plane. */
import type { CloseCause, Direction, PeerObserver } from '../../../engine/peer/observer.ts';
import type { PeerTarget } from '../../../engine/peer/options.ts';

/** The counts of one plane. */
export class Counts implements PeerObserver {
  readonly #counts = new Map<string, number>();

  /** How often `name` was reported (`linkClosed`, or in full `linkClosed.eof`). */
  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** All counts, for the messages of failed assertions. */
  all(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  linkOpened(): void {
    this.#add('linkOpened');
  }

  linkClosed(_peer: PeerTarget, cause: CloseCause): void {
    this.#add('linkClosed', cause);
  }

  connectFailed(_peer: PeerTarget, failure: string): void {
    this.#add('connectFailed', failure);
  }

  peerAdmitted(): void {
    this.#add('peerAdmitted');
  }

  peerEjected(): void {
    this.#add('peerEjected');
  }

  peerRefused(direction: Direction, reason: string): void {
    this.#add('peerRefused', `${direction}.${reason}`);
  }

  requestQueued(): void {
    this.#add('requestQueued');
  }

  requestSent(): void {
    this.#add('requestSent');
  }

  requestDropped(_peer: PeerTarget, outcome: string): void {
    this.#add('requestDropped', outcome);
  }

  requestTimedOut(_peer: PeerTarget, sent: boolean): void {
    this.#add('requestTimedOut', sent ? 'sent' : 'unsent');
  }

  responseReceived(): void {
    this.#add('responseReceived');
  }

  responseMismatched(): void {
    this.#add('responseMismatched');
  }

  inboundOpened(): void {
    this.#add('inboundOpened');
  }

  inboundClosed(cause: CloseCause): void {
    this.#add('inboundClosed', cause);
  }

  answerQueued(): void {
    this.#add('answerQueued');
  }

  inboundOverloaded(): void {
    this.#add('inboundOverloaded');
  }

  answerDoubled(): void {
    this.#add('answerDoubled');
  }

  frameRejected(direction: Direction, fault: string): void {
    this.#add('frameRejected', `${direction}.${fault}`);
  }

  #add(name: string, detail?: string): void {
    this.#counts.set(name, this.of(name) + 1);
    if (detail === undefined) return;
    const full = `${name}.${detail}`;
    this.#counts.set(full, this.of(full) + 1);
  }
}
