/**
 * A client that subscribes to channels, hears their messages for a while, unsubscribes, and listens a little longer: no
 * message may come any more. A slow one reads nothing for a part of that time.
 */
import type { Reply } from '../../engine/api/redis/reply-reader.ts';
import { ReplyReader } from '../../engine/api/redis/reply-reader.ts';
import { Deferred } from '../../engine/base/deferred.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Connection } from '../../engine/io/network.ts';
import type { ListenPlan } from '../evidence/redis-messages.ts';
import { subscribeCommands } from '../evidence/redis-messages.ts';
import type { ClientPort } from './pb-connection.ts';
import type { TimedReply } from './redis-connection.ts';
import { encodeCommand } from './redis-connection.ts';

/** One listener. */
export interface ListenerSetup {
  readonly target: ClientPort;
  readonly plan: ListenPlan;
  readonly nowUs: () => number;
  readonly connectTimeoutUs: number;
  readonly answerTimeoutUs: number;
}

/** What a listener heard. */
export interface Listening {
  /** Every reply and message, in order; without that to AUTH. */
  readonly heard: readonly TimedReply[];
  /** When it sent its commands to unsubscribe; undefined: the connection was lost, or never made. */
  readonly leftUs: number | undefined;
  /** Why it did not end as planned. */
  readonly lost: string;
}

/** How long it goes on listening without a subscription. */
const afterUs = 100_000;

/** Listens as planned. Never rejects. */
export async function listen(setup: ListenerSetup, io: Io): Promise<Listening> {
  const { target, plan, nowUs, connectTimeoutUs, answerTimeoutUs } = setup;
  let connection: Connection;
  try {
    connection = await io.network.connect(target.address, connectTimeoutUs);
  } catch {
    // The node refuses or is silent: there is nothing to hear.
    return { heard: [], leftUs: undefined, lost: 'no connection could be made' };
  }
  const ear = new Ear(io, connection, nowUs, target.token === undefined ? 0 : 1);
  if (target.token !== undefined) connection.write(encodeCommand(['AUTH', target.token]));
  const { length } = plan.subscriptions;
  ear.send(subscribeCommands(plan.subscriptions, false));
  let leftUs: number | undefined;
  if (await ear.confirmed('subscribe', length, answerTimeoutUs)) {
    if (plan.deafUs > 0) {
      connection.pause();
      await sleep(io.clock, plan.deafUs);
      if (ear.lost === '') connection.resume();
    }
    await sleep(io.clock, plan.forUs - plan.deafUs);
    if (ear.lost === '') {
      leftUs = nowUs();
      ear.send(subscribeCommands(plan.subscriptions, true));
      if (await ear.confirmed('unsubscribe', length, answerTimeoutUs)) await sleep(io.clock, afterUs);
    }
  }
  const { lost } = ear;
  ear.close();
  return { heard: ear.heard, leftUs, lost };
}

/** Collects what arrives on one connection. */
class Ear {
  readonly heard: TimedReply[] = [];
  /** Why the connection is over; empty while it is not. */
  lost = '';
  readonly #io: Io;
  readonly #connection: Connection;
  readonly #reader = new ReplyReader();
  readonly #nowUs: () => number;
  /** Replies to come before the first of those that count. */
  #before: number;
  #waiting: { readonly word: string; readonly count: number; readonly done: Deferred<boolean> } | undefined;

  constructor(io: Io, connection: Connection, nowUs: () => number, before: number) {
    this.#io = io;
    this.#connection = connection;
    this.#nowUs = nowUs;
    this.#before = before;
    connection.start({
      onData: (chunk) => this.#take(chunk),
      onDrain: () => {
        // It sends two small batches, and waits for the reply to the first.
      },
      onEnd: () => this.#fail('the node ended the connection'),
      onClose: (reason) => this.#fail(`the connection is over: ${reason}`),
    });
  }

  send(commands: readonly (readonly string[])[]): void {
    this.#connection.write(Buffer.concat(commands.map(encodeCommand)));
  }

  /** Whether that many subscriptions are confirmed, or ended, within `timeoutUs`. */
  async confirmed(word: string, count: number, timeoutUs: number): Promise<boolean> {
    if (this.lost !== '') return false;
    const done = new Deferred<boolean>();
    this.#waiting = { word, count, done };
    const late = this.#io.clock.after(timeoutUs, () => this.#fail('no answer within the deadline'));
    this.#look();
    const is = await done.promise;
    late.cancel();
    return is;
  }

  close(): void {
    this.#fail('closed here');
  }

  #take(chunk: Uint8Array): void {
    this.#reader.push(chunk);
    for (let reply = this.#reader.next(); reply !== undefined; reply = this.#reader.next()) {
      if (this.#before > 0) this.#before -= 1;
      else this.heard.push({ reply, atUs: this.#nowUs() });
      if (reply.kind === 'error') this.#fail(reply.text);
    }
    this.#look();
  }

  #look(): void {
    if (this.#waiting === undefined) return;
    const { word, count, done } = this.#waiting;
    const pattern = new RegExp(`^[ps]?${word}$`, 'u');
    if (this.heard.filter(({ reply }) => pattern.test(wordOf(reply))).length < count) return;
    this.#waiting = undefined;
    done.resolve(true);
  }

  #fail(reason: string): void {
    if (this.lost !== '') return;
    this.lost = reason;
    this.#connection.destroy();
    this.#waiting?.done.resolve(false);
    this.#waiting = undefined;
  }
}

/** The first part of a message or a confirmation. */
function wordOf(reply: Reply): string {
  const first = reply.kind === 'array' ? reply.items[0] : undefined;
  return first?.kind === 'bulk' ? first.bytes.toString() : '';
}
