/**
 * A throw-away certificate authority, to try TLS on one machine and for tests: elliptic-curve keys (P-256),
 * certificates for the loopback names, valid for 30 days. Its private key exists only as long as the process. Not for a
 * real cluster.
 */
// The library's dependency injection needs this import, and needs it first.
import 'reflect-metadata';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { X509Certificate } from '@peculiar/x509';
import { randomBytes, webcrypto } from 'node:crypto';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 86_400_000;
const validDays = 30;

type KeyPair = webcrypto.CryptoKeyPair;

/** A certificate and its private key, both PEM. */
export interface IssuedCertificate {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority that signs certificates of nodes on this machine. */
export class ThrowAwayAuthority {
  readonly #keys: KeyPair;
  readonly #certificate: X509Certificate;

  private constructor(keys: KeyPair, certificate: X509Certificate) {
    this.#keys = keys;
    this.#certificate = certificate;
  }

  /** Makes an authority with a new key. */
  static async make(): Promise<ThrowAwayAuthority> {
    const keys = await makeKeys();
    const certificate = await X509CertificateGenerator.createSelfSigned({
      serialNumber: serialNumber(),
      name: 'CN=Lockstep throw-away CA',
      ...validity(validDays),
      keys,
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        // Distinguishes two authorities of one name in a file with the old and the new one (RFC 5280, section 4.2.1.2).
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return new ThrowAwayAuthority(keys, certificate);
  }

  /** The authority's own certificate, as PEM. */
  get pem(): string {
    return `${this.#certificate.toString('pem')}\n`;
  }

  /** Issues a certificate for servers and clients, valid for `days`. If `days` is negative, it has expired already. */
  async issue(name: string, days = validDays): Promise<IssuedCertificate> {
    const keys = await makeKeys();
    const certificate = await X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: `CN=${name}`,
      issuer: this.#certificate.subject,
      ...validity(days),
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
        await AuthorityKeyIdentifierExtension.create(this.#keys.publicKey),
        new SubjectAlternativeNameExtension([
          { type: 'dns', value: 'localhost' },
          { type: 'ip', value: '127.0.0.1' },
          { type: 'ip', value: '::1' },
        ]),
      ],
    });
    return { cert: `${certificate.toString('pem')}\n`, key: await pemOf(keys) };
  }
}

function makeKeys(): Promise<KeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

/** A positive number of 16 bytes. */
function serialNumber(): string {
  return `01${randomBytes(15).toString('hex')}`;
}

function validity(days: number): { readonly notBefore: Date; readonly notAfter: Date } {
  const end = Date.now() + days * dayMs;
  return { notBefore: new Date(Math.min(Date.now(), end) - dayMs), notAfter: new Date(end) };
}

async function pemOf({ privateKey }: KeyPair): Promise<string> {
  const bytes = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', privateKey));
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n');
}
