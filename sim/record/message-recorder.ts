/**
 * Records the messages of a run from the bytes that hosts write and receive. Between nodes a message is a frame: one
 * that arrives is the oldest equal one under way, so losses, copies and overtakings show. On other connections a
 * message is what one side wrote at once; it has arrived when its last byte has.
 */
import { requestOfKind } from '../../engine/peer/wire/kinds.ts';
import { headerBytes } from '../../engine/peer/wire/frames.ts';
import { bufferOf } from '../../engine/base/ids.ts';
import { clusterPorts } from '../world/cluster/node-config.ts';
import type { ConnectionEnd, ConnectionWatcher } from '../world/core/watchers.ts';
import { wordsOf } from './message-words.ts';
import type { Message } from './recording.ts';
import type { Subjects } from './subjects.ts';

/** Most messages that a recording holds; further ones are counted only. */
const messagesMax = 60_000;

type OpenMessage = { -readonly [Field in keyof Message]: Message[Field] };

/** What a sender wrote and the receiver has not received, in one direction of a connection. */
class Direction {
  writtenBytes = 0;
  heardBytes = 0;
  readonly underWay: { readonly endsAt: number; readonly message: OpenMessage | undefined }[] = [];
  readonly frames = new Map<string, (OpenMessage | undefined)[]>();
  readonly last = new Map<string, OpenMessage | undefined>();
  readonly written = new FrameCutter();
  readonly heard = new FrameCutter();
}

interface CutFrame {
  readonly kind: number;
  readonly id: number;
  /** Equal for equal frames. */
  readonly name: string;
  readonly body: Buffer;
  readonly bytes: number;
}

const nothing = Buffer.alloc(0);

/** Cuts a stream into frames; gives up on bytes that are none. */
class FrameCutter {
  /** A copy: the sender takes its bytes back. */
  #rest = nothing;
  #broken = false;

  *cut(bytes: Uint8Array): Generator<CutFrame> {
    if (this.#broken) return;
    const given = bufferOf(bytes);
    const all = this.#rest.length === 0 ? given : Buffer.concat([this.#rest, given]);
    let at = 0;
    while (all.length - at >= headerBytes) {
      if (!beginsFrame(all, at)) {
        this.#broken = true;
        return;
      }
      const end = at + headerBytes + all.readUInt32BE(at + 12);
      if (all.length < end) break;
      const [kind, id] = [all[at + 4] ?? 0, all.readUInt32BE(at + 8)];
      const name = `${kind} ${id} ${all.readUInt32BE(at + 12)} ${all.readUInt32BE(at + 16)}`;
      yield { kind, id, name, body: all.subarray(at + headerBytes, end), bytes: end - at };
      at = end;
    }
    this.#rest = at === all.length ? nothing : Buffer.from(all.subarray(at));
  }
}

/** Whether the frames' magic, `LSP`, is there. */
function beginsFrame(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0x4c && bytes[at + 1] === 0x53 && bytes[at + 2] === 0x50;
}

/** Collects the messages of one run. */
export class MessageRecorder implements ConnectionWatcher {
  readonly kinds: string[] = [];
  readonly messages: OpenMessage[] = [];
  leftOut = 0;
  readonly #now: () => number;
  readonly #laneOf: (host: string) => number;
  readonly #subjects: Subjects;
  readonly #directions = new Map<string, Direction>();
  /** What a request was about, for its answer. */
  readonly #asked = new Map<string, readonly number[]>();

  constructor(now: () => number, laneOf: (host: string) => number, subjects: Subjects) {
    this.#now = now;
    this.#laneOf = laneOf;
    this.#subjects = subjects;
  }

  wrote(end: ConnectionEnd, bytes: Uint8Array): void {
    const direction = this.#direction(end.id, end.side);
    if (end.port === clusterPorts.peer) {
      for (const frame of direction.written.cut(bytes)) this.#sentFrame(end, direction, frame);
      return;
    }
    direction.writtenBytes += bytes.length;
    const kind = `client ${end.side === 'client' ? 'request' : 'answer'}`;
    const message = this.#add(end, this.#kindOf(kind), bytes.length, []);
    direction.underWay.push({ endsAt: direction.writtenBytes, message });
  }

  heard(end: ConnectionEnd, bytes: Uint8Array): void {
    const direction = this.#direction(end.id, end.side === 'client' ? 'server' : 'client');
    if (end.port === clusterPorts.peer) {
      for (const frame of direction.heard.cut(bytes)) this.#heardFrame(direction, frame);
      return;
    }
    direction.heardBytes += bytes.length;
    for (let first = direction.underWay[0]; first !== undefined; first = direction.underWay[0]) {
      if (first.endsAt > direction.heardBytes) return;
      if (first.message !== undefined) first.message.arrivedUs = this.#now();
      direction.underWay.shift();
    }
  }

  opened(): void {}
  toldEnd(): void {}
  left(): void {}
  closed(): void {}
  connectFailed(): void {}

  #sentFrame(end: ConnectionEnd, direction: Direction, { kind, id, name, body, bytes }: CutFrame): void {
    const request = requestOfKind(kind);
    const conversation = `${end.id} ${request === undefined ? otherSide(end.side) : end.side} ${id}`;
    const about =
      request === undefined ? (this.#asked.get(conversation) ?? []) : this.#subjects.inBytes(body);
    if (request === undefined) this.#asked.delete(conversation);
    else if (about.length > 0) this.#asked.set(conversation, about);
    const words = wordsOf({ kind, id, body });
    const message = this.#add(end, this.#kindOf(words.kind), bytes, about);
    if (message !== undefined && words.detail !== undefined) message.detail = words.detail;
    if (message !== undefined && words.items !== undefined) message.items = words.items;
    const waiting = direction.frames.get(name);
    if (waiting === undefined) direction.frames.set(name, [message]);
    else waiting.push(message);
  }

  #heardFrame(direction: Direction, { name }: CutFrame): void {
    const waiting = direction.frames.get(name);
    const message = waiting?.shift();
    if (waiting?.length === 0) direction.frames.delete(name);
    if (message !== undefined) {
      message.arrivedUs = this.#now();
      direction.last.set(name, message);
      return;
    }
    const before = direction.last.get(name);
    if (before !== undefined) this.#keep({ ...before, arrivedUs: this.#now(), again: true });
  }

  #add(end: ConnectionEnd, kind: number, bytes: number, about: readonly number[]): OpenMessage | undefined {
    const [from, to] = [this.#laneOf(end.host), this.#laneOf(end.peer)];
    return this.#keep({ from, to, sentUs: this.#now(), arrivedUs: -1, kind, bytes, about });
  }

  #keep(message: OpenMessage): OpenMessage | undefined {
    if (this.messages.length < messagesMax) {
      this.messages.push(message);
      return message;
    }
    this.leftOut += 1;
    return undefined;
  }

  #kindOf(word: string): number {
    const known = this.kinds.indexOf(word);
    return known >= 0 ? known : this.kinds.push(word) - 1;
  }

  #direction(id: number, from: ConnectionEnd['side']): Direction {
    const name = `${id} ${from}`;
    const known = this.#directions.get(name);
    if (known !== undefined) return known;
    const direction = new Direction();
    this.#directions.set(name, direction);
    return direction;
  }
}

function otherSide(side: ConnectionEnd['side']): ConnectionEnd['side'] {
  return side === 'client' ? 'server' : 'client';
}
