/** The configuration keys of authentication and TLS, for the table of `keys.ts`. */
import type { KeyRows } from './config-key.ts';
import { untried } from './config-key.ts';
import type { ValueKind } from './values.ts';
import { flag, optional, record, text } from './values.ts';

/** Paths of TLS files in PEM form. */
export interface TlsFiles {
  /** The certificate, followed by the intermediate ones up to the CA. */
  readonly cert: string;
  readonly key: string;
  /** The CA whose certificates clients must show; undefined: clients need none. */
  readonly ca: string | undefined;
}

/** As `TlsFiles`; the CA is mandatory, because peers authenticate each other. */
export interface PeerTlsFiles extends TlsFiles {
  readonly ca: string;
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

/** The rows. */
export const securityKeys = {
  tls: {
    kind: orOff(tlsFiles, 'a map of paths with cert, key and, where clients must show certificates, ca'),
    fallback: 'off',
    trial: untried('the world has no TLS; engine/cli tests real connections'),
    help: 'TLS of the listeners for clients and of the statistics: PEM files, relative to the configuration file.',
  },
  peerTls: {
    kind: orOff(peerTlsFiles, 'a map of paths with cert, key and ca'),
    fallback: 'off',
    trial: untried('the world has no TLS; engine/cli tests real connections'),
    help: 'Mutual TLS between nodes: every node shows a certificate of this CA, which must be the cluster’s own.',
  },
  insecure: {
    kind: flag,
    fallback: false,
    trial: untried('it guards a start by an operator and changes nothing afterwards'),
    help: 'Allows listeners that other machines can reach without TLS and credentials: the network is trusted.',
  },
  credentials: {
    kind: orOff(path, 'the path of a file'),
    fallback: 'off',
    trial: untried('unauthorized-request sets the credentials of its run'),
    help: 'File of those who may come in (lockstep credentials makes it), relative to the configuration file; off: everybody may do everything.',
  },
} as const satisfies KeyRows;
