/**
 * The rules that limit a credential to buckets. A rule is `BUCKET` or `TYPE/BUCKET`; each name may end with `*`, which
 * stands for any rest. Without a type the rule is about the default type. Other bytes of names than letters, digits and
 * punctuation are percent-encoded, and so are `/`, `*` and `%` as parts of a name.
 */
import type { ByteString } from '../base/ids.ts';
import { defaultType } from '../base/object-key.ts';

/** Most rules of one credential. */
export const bucketRuleCountMax = 64;

interface NameRule {
  readonly name: ByteString;
  /** Whether any name that begins with `name` is meant. */
  readonly isPrefix: boolean;
}

/** One rule. */
export interface BucketRule {
  /** The rule as it is written in the credentials file. */
  readonly text: string;
  readonly type: NameRule;
  readonly bucket: NameRule;
}

/** What a rule may look like, for error messages. */
export const bucketRuleForm =
  'BUCKET or TYPE/BUCKET, each of which may end with *, such as shop:* or sessions/*';

const nameForm = /^((?:[!-$&-).,+\-0-9:-~]|%[0-9A-Fa-f]{2})*)(\*?)$/;

/** The rule of a text; undefined if it has not the form. */
export function parseBucketRule(text: string): BucketRule | undefined {
  if (text.length > 1024) return undefined;
  const parts = text.split('/');
  const [first = '', second] = parts;
  const type = second === undefined ? { name: defaultType, isPrefix: false } : parseName(first);
  const bucket = parseName(second ?? first);
  if (parts.length > 2 || type === undefined || bucket === undefined) return undefined;
  return { text, type, bucket };
}

function parseName(text: string): NameRule | undefined {
  const [, encoded, star] = nameForm.exec(text) ?? [];
  if (encoded === undefined || (encoded === '' && star === '')) return undefined;
  const name = encoded.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  ) as ByteString;
  return { name, isPrefix: star === '*' };
}

/** Whether one of the rules is about the bucket. */
export function reaches(rules: readonly BucketRule[], type: ByteString, bucket: ByteString): boolean {
  return rules.some((rule) => isMeant(rule.type, type) && isMeant(rule.bucket, bucket));
}

function isMeant({ name, isPrefix }: NameRule, given: ByteString): boolean {
  return isPrefix ? given.startsWith(name) : given === name;
}
