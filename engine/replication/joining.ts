/**
 * Collects requests of one kind that came together, and hands them over in batches, each within the bounds of one
 * message and with one timeout.
 */
import type { Member } from '../cluster/ring/ring.ts';
import type { PeerRequest } from '../peer/wire/messages.ts';
import { manyBytesMax, manyCountMax } from './merge-many.ts';
import type { DispatchPlan } from './plan.ts';
import type { RoundDependencies } from './round-dependencies.ts';

/** What the collecting of batches needs of the node. */
export type JoiningDependencies = Pick<RoundDependencies, 'self' | 'reads' | 'queueFull'>;

/** The batches of one step. `T`: a request of a batch. */
export class Joining<T> {
  readonly #parts: JoiningDependencies;
  readonly #kind: PeerRequest['kind'];
  readonly #run: (requests: readonly T[], timeoutUs: number) => void;
  /** Whether each replica may be sent a batch now. */
  readonly #takers = new Map<Member, boolean>();
  #requests: T[] = [];
  #bytes = 0;
  #timeoutUs = 0;

  /** `kind`: the message that carries a batch to a peer. `run` gets each batch, of at least one request. */
  constructor(
    parts: JoiningDependencies,
    kind: PeerRequest['kind'],
    run: (requests: readonly T[], timeoutUs: number) => void,
  ) {
    this.#parts = parts;
    this.#kind = kind;
    this.#run = run;
  }

  /** Whether every other target of the plan reads batches, and has space for one. */
  takes({ targets }: DispatchPlan): boolean {
    for (const { member } of targets) {
      if (member === this.#parts.self) continue;
      let taker = this.#takers.get(member);
      if (taker === undefined) {
        const { queueFull, reads } = this.#parts;
        taker = reads(member.node, this.#kind) && !queueFull(member.node, manyBytesMax);
        this.#takers.set(member, taker);
      }
      if (!taker) return false;
    }
    return true;
  }

  /** Adds a request of `bytes` bytes. */
  add(request: T, bytes: number, timeoutUs: number): void {
    const isFull = this.#requests.length >= manyCountMax || this.#bytes + bytes > manyBytesMax;
    if (isFull || timeoutUs !== this.#timeoutUs) this.flush();
    this.#timeoutUs = timeoutUs;
    this.#requests.push(request);
    this.#bytes += bytes;
  }

  /** Hands over what was added last. */
  flush(): void {
    const requests = this.#requests;
    this.#requests = [];
    this.#bytes = 0;
    if (requests.length > 0) this.#run(requests, this.#timeoutUs);
  }
}
