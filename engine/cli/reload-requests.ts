/** SIGHUP: what lies in files beside the configuration (credentials, certificates) is to be read again. */

/** Calls `reload` at every request, until the process ends. Where there is no SIGHUP nobody asks. */
export function onReloadRequest(reload: () => void): void {
  process.on('SIGHUP', reload);
}
