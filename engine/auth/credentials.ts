/**
 * The credentials file. One line each, `name role sha256:digest`: the name (1 to 64 of A-Z a-z 0-9 _ . -), `read`,
 * `write` or `admin`, and the SHA-256 of the token's bytes in 64 small hexadecimal digits. Empty lines and lines that
 * begin with `#` say nothing. Names and digests differ from line to line.
 *
 * Tokens are made by chance (256 bits, `lockstep credentials add`), so their digests need neither salt nor stretching:
 * nobody guesses what nobody chose. A token itself stands nowhere. What is wrong with a file is said by line, without
 * the line's words: somebody may have written a token there.
 */
import { createHash } from 'node:crypto';
import { LockstepError } from '../base/errors.ts';
import type { Role } from './role.ts';
import { roles } from './role.ts';

export interface Credential {
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of the token, 32 bytes. */
  readonly digest: Uint8Array;
}

export const credentialCountMax = 1000;
export const credentialsBytesMax = 256 * 1024;
/** A token is at most so long; a longer one is wrong without a look. */
export const tokenBytesMax = 1024;
/** And at least so long where somebody brings one: shorter ones can be guessed. */
export const tokenBytesMin = 20;

const nameForm = /^[A-Za-z0-9_.-]{1,64}$/;
const digestForm = /^sha256:([0-9a-f]{64})$/;
const lineForm = 'name role sha256:digest';

export function isCredentialName(name: string): boolean {
  return nameForm.test(name);
}

export function digestOf(token: string | Uint8Array): Uint8Array {
  return createHash('sha256').update(token).digest();
}

/** The credentials of a file's text. Throws `ConfigInvalid` with every fault, each with its line. */
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

/** One line, or what is wrong with it. */
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

/** The file's line of a credential, without its end. */
export function credentialLine({ name, role, digest }: Credential): string {
  return `${name} ${role} sha256:${Buffer.from(digest).toString('hex')}`;
}
