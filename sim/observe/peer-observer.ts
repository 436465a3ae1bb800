/** Decodes the connections between a node and its peers from the wire: frames by kind, and how connections end. */
import type { CloseReason } from '../../engine/io/network.ts';
import type { Frame } from '../../engine/peer/wire/frames.ts';
import { FrameDecoder, FrameError, headerBytes } from '../../engine/peer/wire/frames.ts';
import { decodeReply } from '../../engine/peer/wire/codec.ts';
import { decodeWorkDone } from '../../engine/mapreduce/peer-messages.ts';
import {
  greetingKinds,
  isReplyKind,
  isRequestKind,
  replyKinds,
  requestKinds,
} from '../../engine/peer/wire/kinds.ts';
import type { AskedTruth, AskingTruth, LinkTruth } from '../check/metrics/reconcile/account.ts';
import { Tallies } from './tallies.ts';

const limits = { frameBytesMax: 64 * 1024 * 1024 };

class Talk {
  readonly peer: string;
  /** The other side has sent its greeting. */
  greeted = false;
  readonly heard = new FrameDecoder(limits);
  readonly wrote = new FrameDecoder(limits);
  /** Frame bytes of unanswered requests, by request number. */
  readonly unanswered = new Map<number, number>();
  /** Numbers of the read requests that are received and not answered. */
  readonly reads = new Set<number>();
  /** Requests received, less answers written. */
  underWay = 0;
  left = false;
  toldEnd = false;
  cut = false;

  constructor(peer: string) {
    this.peer = peer;
  }

  /** Greeted, and not ended as far as this side knows. */
  get up(): boolean {
    return this.greeted && !this.left && !this.toldEnd && !this.cut;
  }
}

abstract class PeerObserver {
  protected readonly sums = new Tallies();
  protected readonly open = new Map<number, Talk>();

  opened(id: number, _http: boolean, peer: string): void {
    this.open.set(id, new Talk(peer));
  }

  heard(id: number, bytes: Uint8Array): void {
    const talk = this.open.get(id);
    if (talk === undefined || talk.left || talk.cut) return;
    this.#read(talk, talk.heard, bytes, (frame) => this.hears(talk, frame));
  }

  wrote(id: number, bytes: Uint8Array): void {
    const talk = this.open.get(id);
    if (talk !== undefined) this.#read(talk, talk.wrote, bytes, (frame) => this.writes(talk, frame));
  }

  toldEnd(id: number): void {
    const talk = this.open.get(id);
    if (talk === undefined || talk.left) return;
    this.#judge(talk, () => talk.heard.end());
    talk.toldEnd = !talk.cut;
  }

  left(id: number): void {
    const talk = this.open.get(id);
    if (talk !== undefined) talk.left = true;
  }

  closed(id: number, reason: CloseReason): void {
    const talk = this.open.get(id);
    if (talk === undefined) return;
    this.open.delete(id);
    if (talk.cut) this.sums.add('broken');
    else if (talk.toldEnd) this.sums.add('ended');
    else if (talk.left) this.sums.add('left');
    else this.sums.add(reason);
  }

  protected get links(): LinkTruth {
    const { sums } = this;
    return {
      open: this.open.size,
      ended: sums.get('ended'),
      reset: sums.get('reset'),
      timedOut: sums.get('timedOut'),
      left: sums.get('left'),
      broken: sums.get('broken'),
      rejected: sums.get('rejected'),
    };
  }

  protected abstract hears(talk: Talk, frame: Frame): void;
  protected abstract writes(talk: Talk, frame: Frame): void;

  #read(talk: Talk, decoder: FrameDecoder, bytes: Uint8Array, take: (frame: Frame) => void): void {
    this.#judge(talk, () => {
      decoder.push(bytes);
      for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) take(frame);
    });
  }

  /** Applies the step; malformed bytes break the connection, and no bytes after them count. */
  #judge(talk: Talk, step: () => void): void {
    try {
      step();
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      talk.cut = true;
      this.sums.add('rejected');
    }
  }
}

/** The connections that the node made to peers of one kind. */
export class RequestingPeerObserver extends PeerObserver {
  get truth(): AskingTruth {
    const { sums } = this;
    let unanswered = 0;
    let unansweredBytes = 0;
    for (const talk of this.open.values()) {
      unanswered += talk.unanswered.size;
      for (const bytes of talk.unanswered.values()) unansweredBytes += bytes;
    }
    return {
      ...this.links,
      refusedConnects: sums.get('connect.refused') + sums.get('connect.unreachable'),
      timedOutConnects: sums.get('connect.timedOut'),
      requests: sums.get('requests'),
      requestBytes: sums.get('requestBytes'),
      answers: sums.get('answers'),
      answerBytes: sums.get('answerBytes'),
      strayAnswers: sums.get('strayAnswers'),
      unanswered,
      unansweredBytes,
      gossip: sums.get('gossip'),
      gossipBytes: sums.get('gossipBytes'),
      forwards: sums.get('forwards'),
      phases: sums.get('phases'),
    };
  }

  /** A connection to the peer exists and has been greeted. */
  isUp(peer: string): boolean {
    for (const talk of this.open.values()) if (talk.peer === peer && talk.up) return true;
    return false;
  }

  connectFailed(failure: string): void {
    this.sums.add(`connect.${failure}`);
  }

  protected writes(talk: Talk, { kind, id, body }: Frame): void {
    if (!isRequestKind(kind) || kind === requestKinds.ping) return;
    this.sums.add('requests');
    this.sums.add('requestBytes', headerBytes + body.length);
    if (kind === requestKinds.gossip) {
      this.sums.add('gossip');
      this.sums.add('gossipBytes', body.length);
    }
    if (kind === requestKinds.coordinateWrite) this.sums.add('forwards');
    if (kind === requestKinds.mapPhase) this.sums.add('phases');
    talk.unanswered.set(id, headerBytes + body.length);
  }

  protected hears(talk: Talk, { kind, id, body }: Frame): void {
    if (kind === greetingKinds.hello) talk.greeted = true;
    if (!isReplyKind(kind) || kind === replyKinds.pong) return;
    if (talk.unanswered.delete(id)) {
      this.sums.add('answers');
      this.sums.add('answerBytes', headerBytes + body.length);
    } else this.sums.add('strayAnswers');
  }
}

/** The connections that peers made to the node. */
export class AnsweringPeerObserver extends PeerObserver {
  get truth(): AskedTruth {
    const { sums } = this;
    let underWay = 0;
    let abandoned = sums.get('abandoned');
    for (const talk of this.open.values()) {
      underWay += talk.underWay;
      if (talk.left || talk.cut) abandoned += talk.underWay;
    }
    return {
      ...this.links,
      reads: sums.get('reads'),
      failedReads: sums.get('failedReads'),
      forwardedWrites: sums.get('forwardedWrites'),
      phasesHeard: sums.get('phasesHeard'),
      phasesAnswered: sums.get('phasesAnswered'),
      phaseInputs: sums.get('phaseInputs'),
      answersWritten: sums.get('answersWritten'),
      gossip: sums.get('gossip'),
      gossipBytes: sums.get('gossipBytes'),
      underWay,
      abandoned,
    };
  }

  override closed(id: number, reason: CloseReason): void {
    this.sums.add('abandoned', this.open.get(id)?.underWay ?? 0);
    super.closed(id, reason);
  }

  protected hears(talk: Talk, { kind, id }: Frame): void {
    if (isRequestKind(kind) && kind !== requestKinds.ping) talk.underWay += 1;
    if (kind === requestKinds.readObject) {
      this.sums.add('reads');
      talk.reads.add(id);
    }
    if (kind === requestKinds.coordinateWrite) this.sums.add('forwardedWrites');
    if (kind === requestKinds.mapPhase) this.sums.add('phasesHeard');
  }

  protected writes(talk: Talk, frame: Frame): void {
    const { kind, id, body } = frame;
    if (!isReplyKind(kind) || kind === replyKinds.pong) return;
    talk.underWay -= 1;
    if (talk.reads.delete(id) && kind === replyKinds.failed) this.sums.add('failedReads');
    this.sums.add('answersWritten');
    if (kind === replyKinds.phaseMapped) {
      this.sums.add('phasesAnswered');
      this.sums.add('phaseInputs', phaseInputsOf(frame));
    }
    if (kind !== replyKinds.gossiped) return;
    this.sums.add('gossip');
    this.sums.add('gossipBytes', body.length);
  }
}

/** The number of MapReduce inputs that a phase answer covers. */
function phaseInputsOf(frame: Frame): number {
  const reply = decodeReply(frame);
  return reply.kind === 'phaseMapped' ? decodeWorkDone(reply.words).count : 0;
}
