/** A client of the binary protocol under a test's control. */
import { TestingPeer } from '../testing/connection-pair.fixture.ts';
import type { ClientReply, ClientRequest } from './client-codec.ts';
import { decodeReply, encodeRequest } from './client-codec.ts';
import { FrameReader } from './frames.ts';

/** The server's end of a connection, with a client that encodes requests and decodes replies. */
export class PbcPeer extends TestingPeer<void> {
  readonly #reader = new FrameReader(1 << 26);
  readonly #replies: ClientReply[] = [];

  /** Sends requests in one piece. */
  request(...requests: readonly ClientRequest[]): Promise<void> {
    return this.send(Buffer.concat(requests.map(encodeRequest)));
  }

  /** Replies that arrived since the last call. */
  replies(): ClientReply[] {
    return this.#replies.splice(0);
  }

  protected override heard(bytes: Buffer): void {
    this.#reader.push(bytes);
    for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next()) {
      this.#replies.push(decodeReply(frame));
    }
  }
}
