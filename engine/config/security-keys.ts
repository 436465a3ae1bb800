/** The configuration keys of who may come in, and how what is said stays between those who say it. */
import type { KeyRows } from './config-key.ts';
import type { ValueKind } from './values.ts';
import { flag, optional, record, text } from './values.ts';

/** Files in PEM form. */
export interface TlsFiles {
  /** The certificate, and behind it those that lead to its CA. */
  readonly cert: string;
  readonly key: string;
  /** Whose certificates clients must show; undefined: clients need none. */
  readonly ca: string | undefined;
}

export interface PeerTlsFiles extends TlsFiles {
  readonly ca: string;
}

export interface SecurityFields {
  /** Undefined: clients, and who reads the statistics, speak plainly. */
  readonly tls: TlsFiles | undefined;
  /** Undefined: nodes speak plainly. */
  readonly peerTls: PeerTlsFiles | undefined;
  readonly insecure: boolean;
  /** A file; undefined: everybody may do everything. */
  readonly credentials: string | undefined;
}

const path = text(4096);

function orOff<T>(kind: ValueKind<T>, allowed: string): ValueKind<T | undefined> {
  return {
    allowed: `${allowed}, or off`,
    read(given, at, report) {
      if (given === 'off') return { value: undefined };
      return kind.read(given, at, (where, problem) => report(where, `${problem}, or off`));
    },
  };
}

const pathKind = { kind: path };
const tlsFiles = record<TlsFiles>({
  cert: pathKind,
  key: pathKind,
  ca: { kind: optional(path), fallback: undefined },
});
const peerTlsFiles = record<PeerTlsFiles>({ cert: pathKind, key: pathKind, ca: pathKind });

export const securityKeys: KeyRows<SecurityFields> = {
  tls: {
    kind: orOff(tlsFiles, 'a map of paths with cert, key and, where clients must show certificates, ca'),
    fallback: 'off',
    help: 'TLS of the listeners for clients and of the statistics: PEM files, relative to the configuration file.',
  },
  peerTls: {
    kind: orOff(peerTlsFiles, 'a map of paths with cert, key and ca'),
    fallback: 'off',
    help: 'Mutual TLS between nodes: every node shows a certificate of this CA, which must be the cluster’s own.',
  },
  insecure: {
    kind: flag,
    fallback: false,
    help: 'Allows listeners that other machines can reach without TLS and credentials: the network is trusted.',
  },
  credentials: {
    kind: orOff(path, 'the path of a file'),
    fallback: 'off',
    help: 'File of those who may come in (lockstep credentials makes it), relative to the configuration file; off: everybody may do everything.',
  },
};
