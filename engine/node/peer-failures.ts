/**
 * Counts failures between peers that the pool and server codecs have no field for: refused handshakes, rejected frames,
 * requests that an overloaded node turned away, and answers given twice. All are families under `svc_peer_`.
 */
import type { Direction } from '../peer/observer.ts';
import type { FamilySource } from '../metrics/family.ts';
import { LabelledFamily } from '../metrics/labelled-family.ts';
import type { FrameFault } from '../peer/wire/frames.ts';
import { frameFaults } from '../peer/wire/frames.ts';
import type { RefusalReason } from '../peer/wire/greetings.ts';
import { refusalReasons } from '../peer/wire/greetings.ts';

const directions: readonly Direction[] = ['inbound', 'outbound'];

/** The counters of failures between peers. Every combination of labels starts at 0. */
export class PeerFailures {
  readonly #rejected = new LabelledFamily({
    name: 'svc_peer_frames_rejected_total',
    help: 'Frames of peers that were cut off for being malformed, by the direction of their connection and what was wrong.',
    type: 'counter',
    labels: ['direction', 'reason'],
  });
  readonly #refused = new LabelledFamily({
    name: 'svc_peer_handshakes_refused_total',
    help: 'Handshakes in which one side would not talk to the other, by direction and reason.',
    type: 'counter',
    labels: ['direction', 'reason'],
  });
  readonly #overloaded = new LabelledFamily({
    name: 'svc_peer_inbound_overloaded_total',
    help: 'Requests of peers that were answered Overloaded without being handled.',
    type: 'counter',
    labels: [],
  });
  readonly #doubled = new LabelledFamily({
    name: 'svc_peer_answers_doubled_total',
    help: 'Requests of peers that this node tried to answer twice; anything but 0 is a bug.',
    type: 'counter',
    labels: [],
  });

  readonly families: readonly FamilySource[] = [
    this.#rejected,
    this.#refused,
    this.#overloaded,
    this.#doubled,
  ];

  constructor() {
    for (const direction of directions) {
      for (const fault of frameFaults) this.#rejected.child(direction, fault);
      for (const reason of refusalReasons) this.#refused.child(direction, reason);
    }
    this.#overloaded.child();
    this.#doubled.child();
  }

  /** Counts a malformed frame for which a connection was cut. */
  frameRejected(direction: Direction, fault: FrameFault): void {
    this.#rejected.child(direction, fault).value += 1;
  }

  /** Counts a handshake that one side refused. */
  refused(direction: Direction, reason: RefusalReason): void {
    this.#refused.child(direction, reason).value += 1;
  }

  /** Counts a request that was answered `Overloaded` without being handled. */
  overloaded(): void {
    this.#overloaded.child().value += 1;
  }

  /** Counts a second answer to one request, which is a bug. */
  answerDoubled(): void {
    this.#doubled.child().value += 1;
  }
}
