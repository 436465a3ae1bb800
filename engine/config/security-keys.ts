/** The configuration keys of who may come in, and how what is said stays between those who say it. */
import type { KeyRows } from './config-key.ts';
import type { ValueKind } from './values.ts';
import { flag, text } from './values.ts';

export interface SecurityFields {
  readonly insecure: boolean;
  /** A file; undefined: everybody may do everything. */
  readonly credentials: string | undefined;
}

const path = text(4096);

const optionalPath: ValueKind<string | undefined> = {
  allowed: 'the path of a file, or off',
  read(given, at, report) {
    if (given === 'off') return { value: undefined };
    return path.read(given, at, (where, problem) => report(where, `${problem}, or off`));
  },
};

export const securityKeys: KeyRows<SecurityFields> = {
  insecure: {
    kind: flag,
    fallback: false,
    help: 'Allows listeners that other machines can reach without TLS and credentials: the network is trusted.',
  },
  credentials: {
    kind: optionalPath,
    fallback: 'off',
    help: 'File of those who may come in (lockstep credentials makes it), relative to the configuration file; off: everybody may do everything.',
  },
};
