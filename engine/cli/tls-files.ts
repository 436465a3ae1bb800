/** The certificates that a configuration names: read, checked, and read again when they have been renewed. */
import { dirname, resolve } from 'node:path';

import type { NodeConfig } from '../config/config.ts';
import type { TlsFiles } from '../config/security-keys.ts';
import type { TlsMaterial } from '../real/tls.ts';
import { TlsIdentity } from '../real/tls.ts';
import { readOpenFile, readSecretFile } from './secret-files.ts';

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

/** Reads the same files again. Throws as `tlsOf`; what was not replaced by then stays. */
export function renewTls(
  { clients, peers }: NodeTls,
  configFile: string,
  { tls, peerTls }: NodeConfig,
): void {
  if (tls !== undefined) clients?.replace(materialOf(configFile, tls));
  if (peerTls !== undefined) peers?.replace(materialOf(configFile, peerTls));
}

function materialOf(configFile: string, { cert, key, ca }: TlsFiles): TlsMaterial {
  const at = (file: string): string => resolve(dirname(configFile), file);
  return {
    cert: { name: at(cert), bytes: readOpenFile(at(cert), pemBytesMax, 'certificate') },
    key: { name: at(key), bytes: readSecretFile(at(key), pemBytesMax, 'private key') },
    ca:
      ca === undefined
        ? undefined
        : { name: at(ca), bytes: readOpenFile(at(ca), pemBytesMax, 'CA certificate') },
  };
}
