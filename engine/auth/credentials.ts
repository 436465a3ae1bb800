/**
 * Parses the credentials file. Each line is `name role sha256:digest`: the name (1 to 64 of A-Z a-z 0-9 _ . -), `read`,
 * `write` or `admin`, and the SHA-256 of the token's bytes in 64 lower-case hexadecimal digits. Empty lines and lines
 * that begin with `#` are ignored. Names and digests are unique.
 *
 * Tokens are random (256 bits, `lockstep credentials add`), so their digests need neither salt nor stretching: no
 * attacker can guess them. No file holds a token. Faults of a file are reported by line, without its text, because an
 * operator may have written a token there.
 */
import { createHash } from 'node:crypto';
import { LockstepError } from '../base/errors.ts';
import type { Role } from './role.ts';
import { roles } from './role.ts';

/** One line of the file. */
export interface Credential {
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of the token, 32 bytes. */
  readonly digest: Uint8Array;
}

/** Most credentials of a file. */
export const credentialCountMax = 1000;
/** Largest credentials file, in bytes. */
export const credentialsBytesMax = 256 * 1024;
/** Longest token, in bytes; a longer one is refused without comparing it. */
export const tokenBytesMax = 1024;
/** Shortest token that an operator may choose, in bytes; shorter ones can be guessed. */
export const tokenBytesMin = 20;

const nameForm = /^[A-Za-z0-9_.-]{1,64}$/;
const digestForm = /^sha256:([0-9a-f]{64})$/;
const lineForm = 'name role sha256:digest';

/** Whether `name` has the form of a credential's name. */
export function isCredentialName(name: string): boolean {
  return nameForm.test(name);
}

/** SHA-256 of a token, 32 bytes. */
export function digestOf(token: string | Uint8Array): Uint8Array {
  return createHash('sha256').update(token).digest();
}

/** The credentials in a file's text. Throws `ConfigInvalid` with the first 20 faults, each with its line. */
export function parseCredentials(text: string, fileName: string): readonly Credential[] {
  const faults: string[] = [];
  const credentials: Credential[] = [];
  const seen = new Map<string, number>();
  const fault = (line: number, problem: string): void => {
    faults.push(`${fileName}:${line}: ${problem}`);
  };
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const read = parseLine(line);
    if (typeof read === 'string') {
      fault(index + 1, read);
      continue;
    }
    const marks = { name: read.name, token: Buffer.from(read.digest).toString('hex') };
    for (const [what, mark] of Object.entries(marks)) {
      const earlier = seen.get(`${what} ${mark}`);
      if (earlier === undefined) seen.set(`${what} ${mark}`, index + 1);
      else fault(index + 1, `it has the ${what} of line ${earlier}; each must have its own`);
    }
    credentials.push(read);
  }
  if (credentials.length > credentialCountMax) {
    faults.push(
      `${fileName}: ${credentials.length} credentials given; allowed: at most ${credentialCountMax}`,
    );
  }
  if (faults.length > 0) throw new LockstepError('ConfigInvalid', faults.slice(0, 20).join('\n'));
  return credentials;
}

/** The credential of one line, or the fault as text. */
function parseLine(line: string): Credential | string {
  const [name = '', role = '', digest = '', ...more] = line.split(/\s+/);
  if (digest === '' || more.length > 0) return `it has not the form: ${lineForm}`;
  if (!isCredentialName(name)) return 'the name has not the form: 1 to 64 of A-Z a-z 0-9 _ . -';
  const known = roles.find((one) => one === role);
  if (known === undefined) return `the role is none; allowed: ${roles.join(', ')}`;
  const hex = digestForm.exec(digest)?.[1];
  if (hex === undefined) return 'the digest has not the form: sha256: and 64 of 0-9 a-f';
  return { name, role: known, digest: Buffer.from(hex, 'hex') };
}

/** The file's line for a credential, without a line end. */
export function credentialLine({ name, role, digest }: Credential): string {
  return `${name} ${role} sha256:${Buffer.from(digest).toString('hex')}`;
}
