/**
 * TLS on a machine: a certificate with its key, validated when it is read, replaced without a restart, and used for
 * every connection that begins afterwards.
 *
 * On client connections (`clients`) the node shows its certificate, and requests one from the client only if a CA is
 * given. Peers (`peers`) authenticate each other: both show a certificate signed by the CA, over TLS 1.3. The
 * certificate is not compared with an address, because nodes move; the greeting of the peer protocol carries the
 * cluster's id, names and addresses. The CA must therefore be the cluster's own: every holder of one of its
 * certificates can act as a node.
 *
 * Clients may use TLS 1.2, with suites that have authenticated encryption and forward secrecy and without CBC mode (RFC
 * 9325, 4.2). No connection is renegotiated (RFC 9325, 3.5).
 */
import { X509Certificate, constants, createPrivateKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { ConnectionOptions, TlsOptions } from 'node:tls';
import { createSecureContext } from 'node:tls';
import { LockstepError } from '../base/errors.ts';

/** The content of a PEM file, and its name for messages. */
export interface PemFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** A certificate, its key, and the CA for the other side's certificates. */
export interface TlsMaterial {
  /** The node's certificate, followed by the intermediate ones up to the CA. */
  readonly cert: PemFile;
  readonly key: PemFile;
  /** The CA whose certificates are accepted; undefined: none is requested. */
  readonly ca: PemFile | undefined;
}

/** All suites of TLS 1.3, and those of TLS 1.2 with forward secrecy and authenticated encryption. */
const suites = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
].join(':');

/** Milliseconds from the connection to the end of its handshake. */
export const handshakeTimeoutMs = 10_000;

/** A server whose certificate can be replaced. */
interface Renewable {
  setSecureContext(options: TlsOptions): void;
}

/** The certificate used for client or for peer connections. */
export class TlsIdentity {
  readonly #role: 'clients' | 'peers';
  readonly #servers = new Set<Renewable>();
  #material: TlsMaterial;
  #failed = 0;

  /** Throws `ConfigInvalid` if the material is invalid. */
  constructor(role: 'clients' | 'peers', material: TlsMaterial) {
    checkMaterial(material);
    this.#role = role;
    this.#material = material;
  }

  /** Failed handshakes since the start: input that is not TLS, an absent or refused certificate, or too slow. */
  get failedHandshakes(): number {
    return this.#failed;
  }

  /** Counts a failed handshake. */
  handshakeFailed(): void {
    this.#failed += 1;
  }

  /**
   * Replaces the certificate for further connections; open ones stay. Throws `ConfigInvalid` and changes nothing if the
   * material is invalid.
   */
  replace(material: TlsMaterial): void {
    checkMaterial(material);
    this.#material = material;
    for (const server of this.#servers) server.setSecureContext(this.serverOptions());
  }

  /** Makes `server` follow `replace` until the returned function is called. */
  follow(server: Renewable): () => void {
    this.#servers.add(server);
    return () => this.#servers.delete(server);
  }

  /** Options for a server that accepts connections. */
  serverOptions(): TlsOptions {
    const asked = this.#material.ca !== undefined;
    return {
      ...this.#shared(),
      requestCert: asked,
      rejectUnauthorized: asked,
      handshakeTimeout: handshakeTimeoutMs,
    };
  }

  /** Options for connections to peers. */
  clientOptions(): ConnectionOptions {
    return { ...this.#shared(), rejectUnauthorized: true, checkServerIdentity: () => undefined };
  }

  #shared(): Pick<TlsOptions, 'cert' | 'key' | 'ca' | 'ciphers' | 'minVersion' | 'secureOptions'> {
    const { cert, key, ca } = this.#material;
    return {
      cert: Buffer.from(cert.bytes),
      key: Buffer.from(key.bytes),
      ...(ca === undefined ? {} : { ca: Buffer.from(ca.bytes) }),
      ciphers: suites,
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      minVersion: this.#role === 'peers' ? 'TLSv1.3' : 'TLSv1.2',
    };
  }
}

/** Validates TLS material. Throws `ConfigInvalid`, naming the file and the problem. */
export function checkMaterial({ cert, key, ca }: TlsMaterial): void {
  const certificate = certificateOf(cert, 'certificate');
  if (ca !== undefined) checkAuthorities(ca);
  if (!certificate.checkPrivateKey(keyOf(key))) {
    throw refusal(key, `the key does not fit the certificate ${cert.name}`);
  }
  try {
    createSecureContext({ cert: Buffer.from(cert.bytes), key: Buffer.from(key.bytes) });
  } catch (error) {
    throw refusal(cert, `it cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Every certificate of the file must be whole: OpenSSL would leave out a damaged one and those behind it. */
function checkAuthorities(file: PemFile): void {
  certificateOf(file, 'CA certificate');
  const parts = textOf(file)
    .split(/(?=-----BEGIN )/)
    .filter((part) => part.startsWith('-----BEGIN '));
  for (const [index, part] of parts.entries())
    if (index > 0)
      certificateOf({ name: `${file.name}, part ${index + 1}`, bytes: Buffer.from(part) }, 'CA certificate');
}

function certificateOf(file: PemFile, what: string): X509Certificate {
  if (!/-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----/.test(textOf(file))) {
    throw refusal(file, `it is no ${what} in PEM form (-----BEGIN CERTIFICATE-----)`);
  }
  try {
    return new X509Certificate(file.bytes);
  } catch {
    throw refusal(file, `it is a damaged ${what}`);
  }
}

function keyOf(file: PemFile): KeyObject {
  const text = textOf(file);
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    throw refusal(file, 'it is not a private key in PEM form (-----BEGIN PRIVATE KEY-----)');
  }
  if (text.includes('ENCRYPTED'))
    throw refusal(file, 'the key is encrypted; keys without a passphrase are read');
  try {
    return createPrivateKey(Buffer.from(file.bytes));
  } catch {
    throw refusal(file, 'it is a damaged private key');
  }
}

function textOf({ bytes }: PemFile): string {
  return Buffer.from(bytes).toString('latin1');
}

function refusal({ name }: PemFile, problem: string): LockstepError {
  return new LockstepError('ConfigInvalid', `${name}: ${problem}`);
}
