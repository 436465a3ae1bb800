/**
 * Recognises forwarded writes that arrive once more. A merge may be repeated, but a replica that coordinates a forwarded
 * write gives it a dot of its own each time: a second one would bring back a value that another write has replaced
 * since.
 *
 * The asking node numbers the writes that it forwards, over all peers (`AskedWrite`). For each asker this node remembers which of the
 * newest numbers of its latest incarnation have come, as in the anti-replay window of IPsec (RFC 4303, section 3.4.3).
 * What is older than the window counts as repeated, and so does what an earlier incarnation of the asker has sent.
 */
import type { NodeId } from '../base/ids.ts';
import type { AskedWrite } from '../peer/wire/messages.ts';

/** How many numbers the window of an asker spans; a power of two. 8 KiB each. */
const windowCount = 65_536;
const wordBits = 32;

interface Asker {
  life: number;
  highest: number;
  readonly seen: Uint32Array;
}

/** The forwarded writes that have come to this node. */
export class RepeatedWrites {
  /** Bounded by the members: others may not connect. */
  readonly #askers = new Map<NodeId, Asker>();

  /** Whether this write has come before, or may have; otherwise it counts as come from now on. */
  isRepeated(from: NodeId, { life, number }: AskedWrite): boolean {
    const asker = this.#askerOf(from, life);
    if (life < asker.life || number <= asker.highest - windowCount) return true;
    if (number > asker.highest) {
      forget(asker.seen, asker.highest + 1, number);
      asker.highest = number;
    }
    const at = number % windowCount;
    const word = Math.floor(at / wordBits);
    const bit = 1 << (at % wordBits);
    const before = asker.seen[word] ?? 0;
    asker.seen[word] = before | bit;
    return (before & bit) !== 0;
  }

  #askerOf(from: NodeId, life: number): Asker {
    const known = this.#askers.get(from);
    if (known === undefined) {
      const asker = { life, highest: 0, seen: new Uint32Array(windowCount / wordBits) };
      this.#askers.set(from, asker);
      return asker;
    }
    if (life > known.life) {
      known.life = life;
      known.highest = 0;
      known.seen.fill(0);
    }
    return known;
  }
}

/** Makes room for the numbers `from` to `to`, which have not come. */
function forget(seen: Uint32Array, from: number, to: number): void {
  if (to - from >= windowCount) {
    seen.fill(0);
    return;
  }
  for (let number = from; number <= to; number++) {
    const at = number % windowCount;
    const word = Math.floor(at / wordBits);
    seen[word] = (seen[word] ?? 0) & ~(1 << (at % wordBits));
  }
}
