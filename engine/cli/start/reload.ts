/** Reads certificates and credentials again while the node runs (SIGHUP). */
import type { LockstepError } from '../../base/errors.ts';
import type { NodeConfig } from '../../config/config.ts';
import { credentialsOf } from '../files/credentials-file.ts';
import { faultsAmong } from '../files/secret-files.ts';
import type { NodeTls } from '../files/tls-files.ts';
import { renewals } from '../files/tls-files.ts';

/**
 * Replaces what the files of the configuration hold now: the identity toward clients, that toward peers, and the
 * credentials (`replace`; not called if the configuration names none). Each is replaced or stays by itself, so a broken
 * certificate does not keep a credential from being taken away. Returns what is wrong with those that stay.
 */
export function reloadSecrets(
  tls: NodeTls,
  file: string,
  config: NodeConfig,
  replace: (credentials: NonNullable<ReturnType<typeof credentialsOf>>) => void,
): readonly LockstepError[] {
  const renewCredentials = (): void => {
    const credentials = credentialsOf(file, config);
    if (credentials !== undefined) replace(credentials);
  };
  return faultsAmong([...renewals(tls, file, config), renewCredentials]);
}
