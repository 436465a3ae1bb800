/** What an operator changed of buckets' properties, and what nodes stated of them after the calm. */
import type { Outcome } from './history.ts';

/**
 * A change sets all marked properties of a bucket at once, or resets the bucket to its type's properties; or sets them
 * of a bucket type, which it makes if its node knows none of that name.
 */
export const bucketChangeKinds = ['set', 'reset', 'type'] as const;

/** One change, as the operator made it. Times are virtual microseconds. */
export interface BucketChange {
  readonly id: string;
  readonly kind: (typeof bucketChangeKinds)[number];
  /** The bucket's name, or `types/` and the name of a bucket type. */
  readonly bucket: string;
  /** Identifies the change in what nodes state: no other change has it. */
  readonly mark: number;
  readonly node: string;
  readonly invokedUs: number;
  readonly completedUs: number;
  readonly outcome: Outcome;
  /** What its node stated right before the change, and right after acknowledging it; undefined: no answer. */
  readonly before?: StatedProperties | undefined;
  readonly after?: StatedProperties | undefined;
}

/** The marked properties, as a node states them. */
export interface StatedProperties {
  readonly allow_mult: boolean;
  readonly old_vclock: number;
  readonly big_vclock: number;
}

/** What one node states of a bucket after the calm; undefined if it did not answer. */
export interface BucketStatement {
  readonly node: string;
  readonly bucket: string;
  readonly atUs: number;
  readonly seen: StatedProperties | undefined;
}

/** What a read shows of two puts without a context; undefined if a request failed. */
export interface BucketEffect {
  readonly bucket: string;
  readonly atUs: number;
  readonly node: string;
  /** As the nodes stated it before the puts. */
  readonly allowMult: boolean;
  readonly values: number | undefined;
}

/** `b3 bucket-operator sets marked0 to siblings, limits of mark 7, at n2: ok`. */
export function describeBucketChange({ id, kind, bucket, mark, node, outcome }: BucketChange): string {
  return `${id} ${bucketOperator} ${bucketDeed(kind, bucket, mark)} at ${node}: ${outcome}`;
}

/** What a change does, as people say it. */
export function bucketDeed(kind: BucketChange['kind'], bucket: string, mark: number): string {
  if (kind === 'reset') return `resets the properties of ${bucket} to those of its type`;
  const type = markedType(bucket);
  const what = type === undefined ? bucket : `the bucket type ${type}`;
  return `sets the properties of ${what} (${describeProperties(markedProperties(mark))}, mark ${mark})`;
}

/** `siblings, old_vclock 100007, big_vclock 107`. */
export function describeProperties({ allow_mult, old_vclock, big_vclock }: StatedProperties): string {
  return `${allow_mult ? 'siblings' : 'no siblings'}, old_vclock ${old_vclock}, big_vclock ${big_vclock}`;
}

/** The host of the operator who makes the changes. */
export const bucketOperator = 'bucket-operator';
/** The host of the one who looks, after the calm, at what nodes state. */
export const bucketReader = 'bucket-reader';

/** All of it. */
export interface BucketEvidence {
  readonly changes: readonly BucketChange[];
  readonly statements: readonly BucketStatement[];
  readonly effects: readonly BucketEffect[];
  /** Nodes whose disks may forget what they have acknowledged. */
  readonly forgetful?: readonly string[];
}

/** What a bucket states that no change concerns, also one of a type that its node does not know. */
export const unmarked: StatedProperties = { allow_mult: false, old_vclock: 86_400, big_vclock: 50 };

/** What a change with this mark sets. Limits this large prune nothing in a run. */
export function markedProperties(mark: number): StatedProperties {
  return { allow_mult: mark % 2 === 1, old_vclock: 100_000 + mark, big_vclock: 100 + mark };
}

/** What a change leaves, if no other one follows it. */
export function propertiesLeft({ kind, mark }: Pick<BucketChange, 'kind' | 'mark'>): StatedProperties {
  return kind === 'reset' ? unmarked : markedProperties(mark);
}

const typesPrefix = 'types/';

/** What the change is made to: a bucket that holds no key before the calm, or `types/` and the name of a bucket type. */
export function markedName({
  kind,
  bucket,
}: {
  readonly kind: BucketChange['kind'];
  readonly bucket: number;
}): string {
  return kind === 'type' ? `${typesPrefix}kind${bucket}` : `marked${bucket}`;
}

/** The name of the bucket type that `markedName` names; undefined for a bucket. */
export function markedType(name: string): string | undefined {
  return name.startsWith(typesPrefix) ? name.slice(typesPrefix.length) : undefined;
}
