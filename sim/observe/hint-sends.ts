/**
 * Follows the hints that nodes send, on the wire (`hint-delivery`): an incarnation that has sent a hint, and was
 * answered that its replica has it, does not send it again and again, also if its store cannot remove it.
 *
 * A read repair or a late write may carry the same bytes, and its answer is one about the hint for all that the wire
 * shows. Such a message is on its way within a request's time of the answer, because the replica lacks nothing later. So
 * what counts is how often the replica has answered later than that: the hint itself may still have to be delivered,
 * which is one such answer, whatever messages were lost meanwhile.
 *
 * Not judged: a node that owns the key no more, or that keeps a hint of it for a former member. It gives its copy, or
 * that hint, to the owners until all of them have it.
 */
import type { PackedKey } from '../../engine/base/object-key.ts';
import type { SendRecords } from '../check/disks/hints.ts';
import type { BadEvent } from '../check/report.ts';
import { nameOf } from './store-dump.ts';

/** Later answers after which a repetition is one. */
const repeatsMin = 2;

/** A hint on the disk of a host. */
export interface StoredHint {
  /** The number of its record. */
  readonly seq: number;
  readonly object: Uint8Array;
}

/** What the observer knows of disks and time. */
export interface SendTerms {
  readonly nowUs: () => number;
  /** Longest time, in virtual microseconds, after which a message with the bytes of a hint is no write and no repair. */
  readonly patienceUs: number;
  /** How long a node waits for the answer to a hint, in virtual microseconds. */
  readonly answerUs: number;
  /** The hint of the key that lies on the disk of the host for the peer; undefined if there is none. */
  readonly hintOf: (host: string, peer: string, key: PackedKey) => StoredHint | undefined;
  /** The node's disk may forget what it has acknowledged: what it lacks again may be sent again. */
  readonly isForgetful: (node: string) => boolean;
  /**
   * The host has or had a copy of the key and owns it no more, or keeps a hint of it for a former member: it gives that to
   * the owners until they have it.
   */
  readonly handsOver: (host: string, key: PackedKey) => boolean;
}

/** A hint that was sent. */
export interface SentHint extends StoredHint {
  readonly host: string;
  readonly peer: string;
  readonly key: PackedKey;
  /** When its replica has confirmed it first. */
  takenUs: number | undefined;
  /** How often its replica has confirmed it later than what may have been a repair. */
  repeats: number;
}

/** The hints that all incarnations of one run have sent. */
export class HintSends {
  readonly #terms: SendTerms;
  /** By incarnation, peer and key: the hint of the key that was sent last. */
  readonly #sent = new Map<string, SentHint>();
  readonly #repeated: BadEvent[] = [];
  #taken = 0;

  constructor(terms: SendTerms) {
    this.#terms = terms;
  }

  get records(): SendRecords {
    return { taken: this.#taken, repeated: this.#repeated };
  }

  /**
   * An incarnation of a host sends the object to the peer. Returns the hint if these are the bytes of one.
   */
  sent(host: string, life: number, peer: string, key: PackedKey, object: Uint8Array): SentHint | undefined {
    const { hintOf, isForgetful, handsOver } = this.#terms;
    const place = `${host}/${life} ${peer} ${key}`;
    const stored = hintOf(host, peer, key);
    let known = this.#sent.get(place);
    if (stored !== undefined && stored.seq !== known?.seq) {
      known = { ...stored, host, peer, key, takenUs: undefined, repeats: 0 };
      this.#sent.set(place, known);
    }
    // The store's removal may have failed although its record is on the disk: the node has the hint then.
    if (known === undefined || isForgetful(peer) || !Buffer.from(known.object).equals(object))
      return undefined;
    return handsOver(host, key) ? undefined : known;
  }

  /** The peer has answered that it has the hint, which was sent at `sentUs`. */
  taken(hint: SentHint, sentUs: number): void {
    const { nowUs, patienceUs, answerUs } = this.#terms;
    const { host, peer, key, takenUs } = hint;
    if (takenUs === undefined) {
      hint.takenUs = nowUs();
      this.#taken += 1;
      return;
    }
    // An answer that comes too late does not count for its node, which sends the hint again.
    if (nowUs() - takenUs <= patienceUs || nowUs() - sentUs > answerUs) return;
    hint.repeats += 1;
    if (hint.repeats !== repeatsMin) return;
    const text = `${host} sends ${peer} its hint of ${nameOf(key)} again and again; ${peer} has confirmed it at ${takenUs} us`;
    this.#repeated.push({ atUs: nowUs(), text });
  }
}
