/**
 * Listens for requests to stop the process: SIGTERM, SIGINT, or the end of the cluster command that started it.
 */
import { exitCodes } from '../exit-codes.ts';

/** Calls `reload` at every SIGHUP until the process ends. Never called on a system without SIGHUP. */
export function onReloadRequest(reload: () => void): void {
  process.on('SIGHUP', reload);
}

/** Resolves at the first request. A second signal ends the process at once. Call it once. */
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
    // In a child of the cluster command: the parent has ended, perhaps before this call.
    process.once('disconnect', resolve);
    if (isOrphaned()) resolve();
  });
}

/** Whether the channel to a parent is closed. Without a parent `connected` is undefined, despite its type. */
function isOrphaned(): boolean {
  return process.connected === false;
}
