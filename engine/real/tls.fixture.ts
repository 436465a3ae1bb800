/** TLS for tests of the machine's ports: a test's own authority and certificates that it has signed. */
import type { IssuedCertificate } from '../cli/files/throw-away-certificates.ts';
import { ThrowAwayAuthority } from '../cli/files/throw-away-certificates.ts';
import type { TlsMaterial } from './tls.ts';
import { TlsIdentity } from './tls.ts';

/** An authority and the certificate of a node `n1`. */
export interface TlsSetting {
  readonly authority: ThrowAwayAuthority;
  readonly node: IssuedCertificate;
}

/** Makes an authority and a certificate. */
export async function tlsSetting(): Promise<TlsSetting> {
  const authority = await ThrowAwayAuthority.make();
  return { authority, node: await authority.issue('n1') };
}

/** The certificate as the material of an identity. */
export function materialOf({ cert, key }: IssuedCertificate, ca?: string): TlsMaterial {
  return {
    cert: { name: 'cert.pem', bytes: Buffer.from(cert) },
    key: { name: 'key.pem', bytes: Buffer.from(key) },
    ca: ca === undefined ? undefined : { name: 'ca.pem', bytes: Buffer.from(ca) },
  };
}

/** An identity for peer connections. */
export function peersOf({ authority, node }: TlsSetting): TlsIdentity {
  return new TlsIdentity('peers', materialOf(node, authority.pem));
}

/** An identity for client connections, without a CA. */
export function clientsOf({ node }: TlsSetting): TlsIdentity {
  return new TlsIdentity('clients', materialOf(node));
}
