/**
 * When the process is asked to stop: by SIGTERM, by SIGINT, or by the end of the cluster command that started it.
 */
import { exitCodes } from './exit-codes.ts';

/** Resolves at the first request; the second one ends the process on the spot. Call once. */
export function stopRequests(): Promise<void> {
  return new Promise((resolve) => {
    let requests = 0;
    const request = () => {
      requests += 1;
      if (requests > 1) process.exit(exitCodes.failed);
      resolve();
    };
    process.on('SIGTERM', request);
    process.on('SIGINT', request);
    // A child of the cluster command: its parent is gone, whatever way it went, perhaps already.
    process.once('disconnect', resolve);
    if (isOrphaned()) resolve();
  });
}

/** There was a channel to a parent, and it is closed. Without one, `connected` is undefined, whatever its type says. */
function isOrphaned(): boolean {
  return process.connected === false;
}
