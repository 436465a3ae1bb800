/** A body that is made while it is sent, onto a response of node:http whose head has been written. */
import type { ServerResponse } from 'node:http';
import { LockstepError } from '../base/errors.ts';
import type { HttpStream } from '../io/http.ts';

/** Who is told how the sending goes. */
export interface StreamWatch {
  /** The client is waited for: it has not taken all that was written. */
  pending(): void;
  /** The stream's end is a bug. */
  failed(error: unknown): void;
}

/** Sends the stream at the client's pace. */
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

/** Notices that the client is gone. */
class Ending {
  readonly #response: ServerResponse;
  /** What the end of the iteration, brought about by the client, came to. */
  returned: Promise<unknown> | undefined;

  constructor(response: ServerResponse, onGone: () => Promise<unknown> | undefined) {
    this.#response = response;
    const leave = (): void => {
      if (response.writableEnded) return;
      this.returned = onGone();
      // Heard of by whoever pumps, once it gets there.
      this.returned?.catch(() => undefined);
    };
    if (this.isGone()) leave();
    else response.once('close', leave);
  }

  isGone(): boolean {
    return this.#response.destroyed;
  }

  /** Resolves when the client has taken what was written, or is gone. */
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
