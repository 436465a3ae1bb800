/**
 * Faults of whole frames between two peers: `message-loss`, `message-duplication`, `message-replay` (an old frame comes
 * again), `message-reordering` (other frames overtake one), `message-filter` (one kind of message does not pass). TCP
 * does none of this; a faulty middlebox, a proxy, or a bug below the engine does, and the engine must keep its promises
 * nevertheless. `wire-version-skew` makes a node speak another version of the format.
 *
 * Frames are found by their header (`engine/peer/wire/frames.ts`). Bytes that are not whole frames pass unchanged. So
 * do greetings, except under `wire-version-skew`: other faults cover connections that cannot begin.
 */
import { headerBytes } from '../../../engine/peer/wire/frames.ts';
import { isReplyKind, isRequestKind } from '../../../engine/peer/wire/kinds.ts';
import type { Effect, FaultId } from '../core/fault-log.ts';
import type { WorldRandom } from '../core/random.ts';

/** The kinds of frame faults. */
export type FrameFaultKind =
  | 'message-loss'
  | 'message-duplication'
  | 'message-replay'
  | 'message-reordering'
  | 'message-filter'
  | 'wire-version-skew';

/** A rule that acts on the frames of one direction. */
export interface FrameFault {
  readonly kind: FrameFaultKind;
  /** Strikes one in so many frames. */
  readonly oneIn: number;
  /** Only frames of these kinds (`engine/peer/wire/kinds.ts`); undefined: every request and answer. */
  readonly frames?: ReadonlySet<number>;
  /** `message-duplication`, `message-replay`: how late the frame comes, at most. */
  readonly delayUsMax?: number;
  /** `wire-version-skew`: added to the version that frames name, greetings included. */
  readonly versionBy?: number;
}

/** What a direction provides to the faults. */
export interface FrameFaultContext {
  readonly random: WorldRandom;
  /** The newest frames that passed the direction (`message-replay`); outlives connections. */
  readonly memory: Uint8Array[];
  send(bytes: Uint8Array): void;
  /** Sends the bytes later, if the connection still exists then. */
  sendLater(bytes: Uint8Array, delayUs: number): void;
  note(kind: FaultId, effect: Effect): void;
}

const magicBytes = [0x4c, 0x53, 0x50] as const;
const versionAt = 3;
const kindAt = 4;
const lengthAt = 12;
const remembered = 32;

/** Sends what a process wrote as the direction's faults change it. */
export function meddle(bytes: Uint8Array, faults: readonly FrameFault[], ground: FrameFaultContext): void {
  const frames = framesOf(bytes);
  if (frames === undefined) return ground.send(bytes);
  let overtaken: Uint8Array[] = [];
  for (const frame of frames) {
    const fault = faults.find((one) => strikes(one, frame, ground.random));
    remember(frame, ground);
    if (fault === undefined) {
      ground.send(frame);
      for (const late of overtaken) ground.send(late);
      overtaken = [];
    } else if (fault.kind === 'message-reordering') {
      ground.note('message-reordering', 'frameOvertaken');
      overtaken.push(frame);
    } else act(fault, frame, ground);
  }
  for (const late of overtaken) ground.sendLater(late, 1 + ground.random.below(overtakenUsMax));
}

/** How long a frame waits at most if no other frame follows at once to overtake it, in microseconds. */
const overtakenUsMax = 20_000;

function act(fault: FrameFault, frame: Uint8Array, ground: FrameFaultContext): void {
  const delayUs = 1 + ground.random.below(fault.delayUsMax ?? 1);
  switch (fault.kind) {
    case 'message-loss':
    case 'message-filter':
      return ground.note(fault.kind, 'frameDropped');
    case 'message-duplication':
      ground.send(frame);
      ground.note('message-duplication', 'frameDoubled');
      return ground.sendLater(frame, delayUs);
    case 'message-replay': {
      ground.send(frame);
      // A request is replayed only where requests go: on a connection of the asking node.
      if (ground.memory.length === 0 || !isRequestKind(kindOf(frame))) return;
      const old = ground.memory[ground.random.below(ground.memory.length)] ?? frame;
      ground.note('message-replay', 'frameReplayed');
      return ground.sendLater(old, delayUs);
    }
    case 'wire-version-skew': {
      const foreign = new Uint8Array(frame);
      foreign[versionAt] = (foreign[versionAt] ?? 0) + (fault.versionBy ?? 0);
      ground.note('wire-version-skew', 'frameForeign');
      return ground.send(foreign);
    }
    case 'message-reordering':
      return;
  }
}

function strikes(fault: FrameFault, frame: Uint8Array, random: WorldRandom): boolean {
  const { frames, oneIn } = fault;
  const kind = kindOf(frame);
  if (fault.kind === 'wire-version-skew') return true;
  if (!isRequestKind(kind) && !isReplyKind(kind)) return false;
  if (frames !== undefined && !frames.has(kind)) return false;
  return oneIn <= 1 || random.below(oneIn) === 0;
}

/** Remembers requests only: the receiver discards an old answer as it does a duplicated one. */
function remember(frame: Uint8Array, { memory }: FrameFaultContext): void {
  if (!isRequestKind(kindOf(frame))) return;
  memory.push(new Uint8Array(frame));
  if (memory.length > remembered) memory.shift();
}

function kindOf(frame: Uint8Array): number {
  return frame[kindAt] ?? 0;
}

/** The whole frames that the bytes consist of; undefined if they are anything else. */
function framesOf(bytes: Uint8Array): readonly Uint8Array[] | undefined {
  const frames: Uint8Array[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length;) {
    if (at + headerBytes > bytes.length || !magicBytes.every((byte, index) => bytes[at + index] === byte))
      return undefined;
    const end = at + headerBytes + view.getUint32(at + lengthAt);
    if (end > bytes.length) return undefined;
    frames.push(bytes.subarray(at, end));
    at = end;
  }
  return frames;
}
