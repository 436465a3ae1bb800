/**
 * Bucket properties by which buckets of a run themselves say how many replicas a request needs that does not state it.
 * The plan's setting names them; nodes get them as properties of the bucket types that clients of single keys use, and
 * clients expect what they say.
 */
import { propertyTable } from '../../engine/buckets/properties.ts';
import { assert } from '../../engine/base/assert.ts';

/**
 * The value of this setting gives the buckets of clients of single keys properties, as in
 * `r=all w=one pw=quorum notfound_ok=false`. A need is a word, `one`, `quorum` or `all`.
 */
export const bucketNeeds = 'bucket_needs';

/** Type of the buckets without siblings that no module routes, in plans with the setting `bucketNeeds`. */
export const demandingType = 'demanding';

const needProperties = ['r', 'pr', 'w', 'pw', 'dw', 'node_confirms', 'rw'] as const;
const flagProperties = ['notfound_ok', 'basic_quorum'] as const;

/** A need that a bucket states. */
export type NeedProperty = (typeof needProperties)[number];

/** What a bucket may state of a need. */
export type BucketNeed = 'one' | 'quorum' | 'all';

/** What the buckets state; a property that is absent has the engine's default. */
export type BucketNeeds = {
  readonly [Name in NeedProperty]?: BucketNeed;
} & { readonly [Name in (typeof flagProperties)[number]]?: boolean };

/** What the buckets of a run with these settings state; nothing without the setting. */
export function bucketNeedsOf({ [bucketNeeds]: given }: Readonly<Record<string, unknown>>): BucketNeeds {
  if (typeof given !== 'string') return {};
  return Object.fromEntries(given.split(' ').map(propertyOf));
}

function propertyOf(text: string): readonly [name: string, value: boolean | BucketNeed] {
  const [name = '', word = ''] = text.split('=');
  const isNeed = needProperties.some((one) => one === name) && ['one', 'quorum', 'all'].includes(word);
  const isFlag = flagProperties.some((one) => one === name) && ['true', 'false'].includes(word);
  assert(propertyTable.has(name) && (isNeed || isFlag), `the setting ${bucketNeeds} has no property ${text}`);
  return isFlag ? [name, word === 'true'] : [name, word as BucketNeed];
}
