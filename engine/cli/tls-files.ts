/** The certificates that a configuration names: read, checked, and read again when they have been renewed. */
import { dirname, resolve } from 'node:path';

import type { LockstepError } from '../base/errors.ts';
import type { NodeConfig } from '../config/config.ts';
import type { TlsFiles } from '../config/security-keys.ts';
import type { TlsMaterial } from '../real/tls.ts';
import { TlsIdentity } from '../real/tls.ts';
import { faultsAmong, readOpenFile, readSecretFile } from './secret-files.ts';

const pemBytesMax = 1024 * 1024;

/** What a node shows to clients and to peers; absent where it speaks plainly. */
export interface NodeTls {
  readonly clients?: TlsIdentity;
  readonly peers?: TlsIdentity;
}

/** Throws `ConfigInvalid`, naming the file and what is wrong with it. */
export function tlsOf(configFile: string, { tls, peerTls }: NodeConfig): NodeTls {
  return {
    ...(tls === undefined ? {} : { clients: new TlsIdentity('clients', materialOf(configFile, tls)) }),
    ...(peerTls === undefined ? {} : { peers: new TlsIdentity('peers', materialOf(configFile, peerTls)) }),
  };
}

/** All that is wrong with the files: each that cannot be read, or, where all can, why they do not fit together. */
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

/** Reads the same files again. Throws as `tlsOf`; what was not replaced by then stays. */
export function renewTls(
  { clients, peers }: NodeTls,
  configFile: string,
  { tls, peerTls }: NodeConfig,
): void {
  if (tls !== undefined) clients?.replace(materialOf(configFile, tls));
  if (peerTls !== undefined) peers?.replace(materialOf(configFile, peerTls));
}

type Reader = () => TlsMaterial['cert'];

/** Each reads one of the files. */
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
