/**
 * TLS on the machine: a certificate with its key, checked when it is read, exchanged without a restart, and shown on
 * every connection that begins afterwards.
 *
 * To clients (`clients`) the certificate is shown, and asked for one in return only where a CA is given. Peers
 * (`peers`) ask each other: both must show a certificate that the CA has signed, in TLS 1.3. Which one is not compared
 * with an address: nodes move, and the cluster's id, names and places are said in the greeting above. So the CA must be
 * the cluster's own: whoever holds a certificate of it may speak as a node.
 *
 * Clients may speak TLS 1.2, with suites that authenticate what they encrypt and agree on a key of the connection's own:
 * none in CBC mode (RFC 9325, 4.2). A connection is never negotiated again (RFC 9325, 3.5).
 */
import { X509Certificate, constants, createPrivateKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { ConnectionOptions, TlsOptions } from 'node:tls';
import { createSecureContext } from 'node:tls';
import { LockstepError } from '../base/errors.ts';

/** PEM, and where it came from, for messages. */
export interface PemFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface TlsMaterial {
  /** The certificate, and behind it those that lead to the CA. */
  readonly cert: PemFile;
  readonly key: PemFile;
  /** Whose certificates are accepted. */
  readonly ca: PemFile | undefined;
}

/** All of TLS 1.3, and of TLS 1.2 those with forward secrecy and authenticated encryption. */
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

/** Milliseconds from a connection to the end of its handshake. */
export const handshakeTimeoutMs = 10_000;

/** What a server with a certificate can be told. */
interface Renewable {
  setSecureContext(options: TlsOptions): void;
}

export class TlsIdentity {
  readonly #role: 'clients' | 'peers';
  readonly #servers = new Set<Renewable>();
  #material: TlsMaterial;
  #failed = 0;

  /** Throws `ConfigInvalid` when the material is not sound. */
  constructor(role: 'clients' | 'peers', material: TlsMaterial) {
    checkMaterial(material);
    this.#role = role;
    this.#material = material;
  }

  /** Handshakes that failed: no TLS, no certificate or one that is not accepted, too slow. */
  get failedHandshakes(): number {
    return this.#failed;
  }

  handshakeFailed(): void {
    this.#failed += 1;
  }

  /** Shown from now on; connections that are open stay. Throws `ConfigInvalid`, and nothing has changed. */
  replace(material: TlsMaterial): void {
    checkMaterial(material);
    this.#material = material;
    for (const server of this.#servers) server.setSecureContext(this.serverOptions());
  }

  /** The server follows `replace`, until it is forgotten. */
  follow(server: Renewable): () => void {
    this.#servers.add(server);
    return () => this.#servers.delete(server);
  }

  serverOptions(): TlsOptions {
    const asked = this.#material.ca !== undefined;
    return {
      ...this.#shared(),
      requestCert: asked,
      rejectUnauthorized: asked,
      handshakeTimeout: handshakeTimeoutMs,
    };
  }

  /** For connections to peers. */
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

/** Throws `ConfigInvalid`, naming the file and what is wrong with it. */
export function checkMaterial({ cert, key, ca }: TlsMaterial): void {
  const certificate = certificateOf(cert, 'certificate');
  if (ca !== undefined) certificateOf(ca, 'CA certificate');
  if (!certificate.checkPrivateKey(keyOf(key))) {
    throw refusal(key, `the key does not fit the certificate ${cert.name}`);
  }
  try {
    createSecureContext({ cert: Buffer.from(cert.bytes), key: Buffer.from(key.bytes) });
  } catch (error) {
    throw refusal(cert, `it cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
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
    throw refusal(file, 'it is no private key in PEM form (-----BEGIN PRIVATE KEY-----)');
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
