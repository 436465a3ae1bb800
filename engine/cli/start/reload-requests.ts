/** SIGHUP asks the process to read the files beside the configuration again: credentials and certificates. */

/** Calls `reload` at every SIGHUP until the process ends. Never called on a system without SIGHUP. */
export function onReloadRequest(reload: () => void): void {
  process.on('SIGHUP', reload);
}
