/** A published message, and its bytes in a subscriber's protocol version. */
import type { ByteString } from '../../../base/ids.ts';
import { byteStringFrom, bytesOf } from '../../../base/ids.ts';
import { Refusal, texts } from '../refusals.ts';
import type { RespVersion } from '../replies.ts';
import { bulkReply } from '../replies.ts';
import type { Request } from '../request-reader.ts';

/** The most bytes of the name of a channel, and of a pattern. */
export const nameBytesMax = 4096;

/** A message on its way. `isShard`: SPUBLISH sent it, so that it goes to the subscribers of SSUBSCRIBE alone. */
export interface Message {
  readonly isShard: boolean;
  readonly channel: ByteString;
  readonly payload: Uint8Array;
}

/** The name of a channel, or a pattern. Throws `Refusal` if it is too long. */
export function channelName(given: Buffer): ByteString {
  if (given.length <= nameBytesMax) return byteStringFrom(given);
  throw new Refusal(
    `ERR the name of a channel has ${given.length} bytes; at most ${nameBytesMax} are allowed`,
  );
}

/** The message of PUBLISH or SPUBLISH. Throws `Refusal` if it is too long. */
export function messageOf(request: Request, valueBytesMax: number): Message {
  const [name = noBytes, channel = noBytes, payload = noBytes] = request;
  if (payload.length > valueBytesMax) throw new Refusal(texts.tooLong);
  return {
    isShard: name.toString('latin1').toLowerCase() === 'spublish',
    channel: channelName(channel),
    payload,
  };
}

const noBytes = Buffer.alloc(0);

/** Encodes one message for many subscribers: the bytes of each form are made once. */
export class EncodedMessage {
  readonly #message: Message;
  readonly #ends: { readonly channel: Buffer; readonly payload: Buffer };
  readonly #plain: (Buffer | undefined)[] = [];

  constructor(message: Message) {
    this.#message = message;
    this.#ends = { channel: bulkReply(bytesOf(message.channel)), payload: bulkReply(message.payload) };
  }

  /** For a subscriber of the channel. */
  plain(version: RespVersion): Buffer {
    const known = this.#plain[version];
    if (known !== undefined) return known;
    const word = this.#message.isShard ? '$8\r\nsmessage\r\n' : '$7\r\nmessage\r\n';
    const { channel, payload } = this.#ends;
    const made = Buffer.concat([Buffer.from(`${pushMark(version)}3\r\n${word}`), channel, payload]);
    this.#plain[version] = made;
    return made;
  }

  /** For the subscribers of a pattern. */
  matched(version: RespVersion, pattern: ByteString): Buffer {
    const { channel, payload } = this.#ends;
    const head = Buffer.from(`${pushMark(version)}4\r\n$8\r\npmessage\r\n`);
    return Buffer.concat([head, bulkReply(bytesOf(pattern)), channel, payload]);
  }
}

/** The first byte of what the server sends without being asked: an array in version 2, a push in version 3. */
export function pushMark(version: RespVersion): '*' | '>' {
  return version === 2 ? '*' : '>';
}
