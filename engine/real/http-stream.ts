/** Sends a body that is produced while it is sent, on a response of node:http whose head has been written. */
import type { ServerResponse } from 'node:http';
import { LockstepError } from '../base/errors.ts';
import type { HttpStream } from '../io/http.ts';

/** Observes the sending of a stream. */
export interface StreamWatch {
  /** The client has not taken everything that was written. */
  pending(): void;
  /** The stream failed with an error that is not a `LockstepError`, which indicates a bug. */
  failed(error: unknown): void;
}

/** Bytes of a whole body that a TLS socket is handed at once. */
export const tlsBytesAtOnce = 256 * 1024;

/**
 * Sends a whole body in parts, on a response whose head has been written. Node does not tell how much of a write over TLS
 * has left: the time that a client has to take some of it would pass within one large write, although the client reads.
 * `pending`: a part has been written, and `restBytes` bytes follow.
 */
export async function sendParts(
  response: ServerResponse,
  bytes: Uint8Array,
  pending: (restBytes: number) => void,
): Promise<void> {
  const end = new Ending(response, () => undefined);
  let at = response.req.method === 'HEAD' ? bytes.length : 0;
  for (; at + tlsBytesAtOnce < bytes.length && !end.isGone(); at += tlsBytesAtOnce) {
    if (response.write(bytes.subarray(at, at + tlsBytesAtOnce))) continue;
    pending(bytes.length - at - tlsBytesAtOnce);
    await end.drained();
  }
  if (end.isGone()) return;
  // The answer counts as taken once its last part is.
  response.end(bytes.subarray(at));
  pending(0);
}

/** Sends the stream at the client's pace. If the stream fails, cuts the connection. */
export function sendStream(response: ServerResponse, stream: HttpStream, watch: StreamWatch): void {
  if (response.req.method === 'HEAD') {
    response.end();
    return;
  }
  pump(response, stream, watch).catch((error: unknown) => {
    if (!(error instanceof LockstepError)) watch.failed(error);
    response.destroy();
  });
}

async function pump(response: ServerResponse, stream: HttpStream, watch: StreamWatch): Promise<void> {
  const chunks = stream[Symbol.asyncIterator]();
  const end = new Ending(response, () => chunks.return?.());
  for (;;) {
    const step = await chunks.next();
    if (end.isGone()) break;
    if (step.done === true) {
      response.end();
      break;
    }
    if (!response.write(step.value)) {
      watch.pending();
      await end.drained();
    }
    if (end.isGone()) break;
  }
  await end.returned;
}

/** Ends the iteration when the client disconnects. */
class Ending {
  readonly #response: ServerResponse;
  /** Result of the iteration's `return`, which the client's disconnection triggered. */
  returned: Promise<unknown> | undefined;

  constructor(response: ServerResponse, onGone: () => Promise<unknown> | undefined) {
    this.#response = response;
    const leave = (): void => {
      if (response.writableEnded) return;
      this.returned = onGone();
      // `pump` awaits it later; until then a rejection must not count as unhandled.
      this.returned?.catch(() => undefined);
    };
    if (this.isGone()) leave();
    else response.once('close', leave);
  }

  isGone(): boolean {
    return this.#response.destroyed;
  }

  /** Resolves when the client has taken everything written, or has disconnected. */
  drained(): Promise<void> {
    const response = this.#response;
    if (this.isGone()) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        response.off('drain', done).off('close', done);
        resolve();
      };
      response.on('drain', done).on('close', done);
    });
  }
}
