/**
 * Parses the credentials file. Each line is `name role sha256:digest`: the name (1 to 64 of A-Z a-z 0-9 _ . -), `read`,
 * `write` or `admin`, and the SHA-256 of the token's bytes in 64 lower-case hexadecimal digits. Limits may follow:
 * `bucket=RULE`, as often as there are rules (`bucket-rules.ts`), `rate=N` requests a second, and `burst=N` requests at
 * once (as many as `rate` if there is none). Empty lines and lines that begin with `#` are ignored. Names and digests are
 * unique.
 *
 * Tokens are random (256 bits, `lockstep credentials add`), so their digests need neither salt nor stretching: no
 * attacker can guess them. No file holds a token. Faults of a file are reported by line, without its text, because an
 * operator may have written a token there.
 */
import { createHash } from 'node:crypto';
import { LockstepError } from '../base/errors.ts';
import type { BucketRule } from './bucket-rules.ts';
import { bucketRuleCountMax, bucketRuleForm, parseBucketRule } from './bucket-rules.ts';
import type { RequestRate } from './request-rate.ts';
import { requestRateMax } from './request-rate.ts';
import type { Role } from './role.ts';
import { roles } from './role.ts';

/** One line of the file. */
export interface Credential {
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of the token, 32 bytes. */
  readonly digest: Uint8Array;
  /** The buckets that its clients may reach; undefined: all, and what concerns the whole cluster. */
  readonly buckets?: readonly BucketRule[] | undefined;
  /** Undefined: as many requests as the node can serve. */
  readonly rate?: RequestRate | undefined;
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
const lineForm = 'name role sha256:digest [bucket=RULE ...] [rate=N [burst=N]]';

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
  if (digest === '') return `it has not the form: ${lineForm}`;
  if (!isCredentialName(name)) return 'the name has not the form: 1 to 64 of A-Z a-z 0-9 _ . -';
  const known = roles.find((one) => one === role);
  if (known === undefined) return `the role is none; allowed: ${roles.join(', ')}`;
  const hex = digestForm.exec(digest)?.[1];
  if (hex === undefined) return 'the digest has not the form: sha256: and 64 of 0-9 a-f';
  const limits = parseLimits(more);
  if (typeof limits === 'string') return limits;
  return { name, role: known, digest: Buffer.from(hex, 'hex'), ...limits };
}

/** The limits of a credential, as a line or the options of a command give them. */
export interface CredentialLimits {
  readonly buckets?: readonly BucketRule[] | undefined;
  readonly rate?: RequestRate | undefined;
}

/** The limits that `fields` state, such as `bucket=shop:*` and `rate=100`, or the fault as text. */
export function parseLimits(fields: readonly string[]): CredentialLimits | string {
  const buckets: BucketRule[] = [];
  const numbers = new Map<string, number>();
  for (const field of fields) {
    const [, what = '', value = ''] = /^(bucket|rate|burst)=(.+)$/s.exec(field) ?? [];
    if (what === '') return `a field is none of bucket=RULE, rate=N and burst=N`;
    if (what === 'bucket') {
      const rule = parseBucketRule(value);
      if (rule === undefined) return `a bucket rule has not the form: ${bucketRuleForm}`;
      buckets.push(rule);
      continue;
    }
    const number = /^\d{1,7}$/.test(value) ? Number(value) : 0;
    if (number < 1 || number > requestRateMax)
      return `${what} is not a whole number from 1 to ${requestRateMax}`;
    if (numbers.has(what)) return `${what} is given twice`;
    numbers.set(what, number);
  }
  if (buckets.length > bucketRuleCountMax)
    return `${buckets.length} bucket rules given; allowed: at most ${bucketRuleCountMax}`;
  const perSecond = numbers.get('rate');
  const burst = numbers.get('burst');
  if (perSecond === undefined && burst !== undefined) return 'burst is given without rate';
  return {
    ...(buckets.length === 0 ? {} : { buckets }),
    ...(perSecond === undefined ? {} : { rate: { perSecond, burst: burst ?? perSecond } }),
  };
}

/** The file's line for a credential, without a line end. */
export function credentialLine(credential: Credential): string {
  const { name, role, digest } = credential;
  return [name, role, `sha256:${Buffer.from(digest).toString('hex')}`, ...limitFields(credential)].join(' ');
}

/** The fields of a line that state the limits. */
export function limitFields({ buckets = [], rate }: CredentialLimits): readonly string[] {
  const fields = buckets.map(({ text }) => `bucket=${text}`);
  if (rate === undefined) return fields;
  fields.push(`rate=${rate.perSecond}`);
  if (rate.burst !== rate.perSecond) fields.push(`burst=${rate.burst}`);
  return fields;
}
