/** Reads and checks the certificate files that a configuration names, and reads them again on a reload. */
import { dirname, resolve } from 'node:path';

import type { LockstepError } from '../../base/errors.ts';
import type { NodeConfig } from '../../config/config.ts';
import type { TlsFiles } from '../../config/security-keys.ts';
import type { TlsMaterial } from '../../real/tls.ts';
import { TlsIdentity } from '../../real/tls.ts';
import { faultsAmong, readOpenFile, readSecretFile } from './secret-files.ts';

const pemBytesMax = 1024 * 1024;

/** The TLS identities of a node toward clients and toward peers; absent where the configuration has no TLS. */
export interface NodeTls {
  readonly clients?: TlsIdentity;
  readonly peers?: TlsIdentity;
}

/** Reads the identities. Throws `ConfigInvalid`, with the file and what is wrong with it. */
export function tlsOf(configFile: string, { tls, peerTls }: NodeConfig): NodeTls {
  return {
    ...(tls === undefined ? {} : { clients: new TlsIdentity('clients', materialOf(configFile, tls)) }),
    ...(peerTls === undefined ? {} : { peers: new TlsIdentity('peers', materialOf(configFile, peerTls)) }),
  };
}

/** All faults of the files: each file that cannot be read, or, if all can, why they do not fit together. */
export function tlsFaults(configFile: string, { tls, peerTls }: NodeConfig): readonly LockstepError[] {
  const faultsOf = (whose: 'clients' | 'peers', files: TlsFiles | undefined): readonly LockstepError[] => {
    if (files === undefined) return [];
    const { cert, key, ca } = readersOf(configFile, files);
    const unread = faultsAmong([cert, key, ...(ca === undefined ? [] : [ca])]);
    if (unread.length > 0) return unread;
    return faultsAmong([() => new TlsIdentity(whose, materialOf(configFile, files))]);
  };
  return [...faultsOf('clients', tls), ...faultsOf('peers', peerTls)];
}

/** For each identity a function that reads its files again and replaces it. It throws as `tlsOf`; the identity stays. */
export function renewals(
  { clients, peers }: NodeTls,
  configFile: string,
  { tls, peerTls }: NodeConfig,
): readonly (() => void)[] {
  return [
    () => tls !== undefined && clients?.replace(materialOf(configFile, tls)),
    () => peerTls !== undefined && peers?.replace(materialOf(configFile, peerTls)),
  ];
}

type Reader = () => TlsMaterial['cert'];

/** One function for each file, which reads it. */
function readersOf(
  configFile: string,
  { cert, key, ca }: TlsFiles,
): { readonly cert: Reader; readonly key: Reader; readonly ca: Reader | undefined } {
  const reader = (read: typeof readOpenFile, file: string, what: string): Reader => {
    const name = resolve(dirname(configFile), file);
    return () => ({ name, bytes: read(name, pemBytesMax, what) });
  };
  return {
    cert: reader(readOpenFile, cert, 'certificate'),
    key: reader(readSecretFile, key, 'private key'),
    ca: ca === undefined ? undefined : reader(readOpenFile, ca, 'CA certificate'),
  };
}

function materialOf(configFile: string, files: TlsFiles): TlsMaterial {
  const { cert, key, ca } = readersOf(configFile, files);
  return { cert: cert(), key: key(), ca: ca?.() };
}
