/** TLS for tests of the machine's doors: an authority of the test's own, and what it has signed. */
import type { IssuedCertificate } from '../cli/throw-away-certificates.ts';
import { ThrowAwayAuthority } from '../cli/throw-away-certificates.ts';
import type { TlsMaterial } from './tls.ts';
import { TlsIdentity } from './tls.ts';

export interface TlsSetting {
  readonly authority: ThrowAwayAuthority;
  readonly node: IssuedCertificate;
}

export async function tlsSetting(): Promise<TlsSetting> {
  const authority = await ThrowAwayAuthority.make();
  return { authority, node: await authority.issue('n1') };
}

export function materialOf({ cert, key }: IssuedCertificate, ca?: string): TlsMaterial {
  return {
    cert: { name: 'cert.pem', bytes: Buffer.from(cert) },
    key: { name: 'key.pem', bytes: Buffer.from(key) },
    ca: ca === undefined ? undefined : { name: 'ca.pem', bytes: Buffer.from(ca) },
  };
}

export function peersOf({ authority, node }: TlsSetting): TlsIdentity {
  return new TlsIdentity('peers', materialOf(node, authority.pem));
}

export function clientsOf({ node }: TlsSetting): TlsIdentity {
  return new TlsIdentity('clients', materialOf(node));
}
