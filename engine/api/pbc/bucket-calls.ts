/**
 * Parses and answers the binary protocol's calls about buckets: properties of buckets and types, and the replicas of a
 * key. `listing-calls.ts` lists names.
 */
import type { ErrorCode } from '../../base/errors.ts';
import { bytesOf, textOf } from '../../base/ids.ts';
import type { ByteString, NodeId, Token } from '../../base/ids.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import type { ReplicaTerms } from '../../replication/needs.ts';
import type { PropertySet } from '../../buckets/properties.ts';
import type { BucketAdmin } from '../bucket-admin.ts';
import type { KnowsType } from '../objects.ts';
import { readBucketProps, rpbBucketProps } from './bucket-properties.ts';
import { nameOf, RiakRefusal } from './call-texts.ts';
import { stringOf } from './contents.ts';
import type { Frame } from './frames.ts';
import { messages } from './schema.ts';

/** A bucket with its type; an empty bucket stands for the type itself. */
interface BucketName {
  readonly type: ByteString;
  readonly bucket: ByteString;
}

/** A decoded call about a bucket, a bucket type or a key's replicas. */
export type BucketCall =
  | { readonly kind: 'getBucket' | 'resetBucket' | 'getBucketType'; readonly name: BucketName }
  | { readonly kind: 'setBucket' | 'setBucketType'; readonly name: BucketName; readonly set: PropertySet }
  | { readonly kind: 'preflist'; readonly object: ObjectKey };

/** A key's placement: its token, and the nodes that hold it, the primary first. */
export interface Preflist {
  readonly token: Token;
  readonly nodes: readonly NodeId[];
}

/** What the calls work with. */
export interface BucketCallDependencies {
  readonly buckets: BucketAdmin;
  readonly terms: ReplicaTerms;
  readonly knowsType: KnowsType;
  /** Throws `KeyfunUnavailable`, and the other errors of a CUSTOM bucket's module. */
  readonly preflist: (key: ObjectKey) => Preflist;
}

const anyKey = Buffer.from('k');

/**
 * Undefined if the frame holds another kind of call. Throws `BadRequest`, and `NotFound` for an unknown bucket type.
 */
export function parseBucketCall(
  frame: Frame,
  knowsType: KnowsType,
  terms: ReplicaTerms,
): BucketCall | undefined {
  switch (frame.code) {
    case messages.getBucketReq.code: {
      const message = messages.getBucketReq.decode(frame.body);
      return { kind: 'getBucket', name: nameOf(message, anyKey, knowsType) };
    }
    case messages.setBucketReq.code: {
      const message = messages.setBucketReq.decode(frame.body);
      const name = nameOf(message, anyKey, knowsType);
      return { kind: 'setBucket', name, set: readBucketProps(message.props, terms) };
    }
    case messages.resetBucketReq.code: {
      const message = messages.resetBucketReq.decode(frame.body);
      return { kind: 'resetBucket', name: nameOf(message, anyKey, knowsType) };
    }
    case messages.getBucketTypeReq.code: {
      const { type } = messages.getBucketTypeReq.decode(frame.body);
      return { kind: 'getBucketType', name: nameOfType(type, knowsType, invalidType) };
    }
    case messages.setBucketTypeReq.code: {
      const { type, props } = messages.setBucketTypeReq.decode(frame.body);
      const name = nameOfType(type, knowsType, notActive);
      // As in Riak, the configuration determines the properties of the default type, and no message changes them.
      if (name.type === defaultType) throw invalidProperties('BadRequest', 'no_default_update');
      return { kind: 'setBucketType', name, set: readBucketProps(props, terms) };
    }
    case messages.preflistReq.code: {
      const message = messages.preflistReq.decode(frame.body);
      const { type, bucket, key } = nameOf(message, message.key, knowsType);
      return { kind: 'preflist', object: objectKey(type, bucket, key) };
    }
    default:
      return undefined;
  }
}

/** The name of an existing bucket type. For another name, throws the error that `refusal` makes. */
function nameOfType(
  type: Uint8Array,
  knowsType: KnowsType,
  refusal: (type: ByteString) => RiakRefusal,
): BucketName {
  const name = stringOf(type);
  if (type.length === 0 || (name !== defaultType && !knowsType(name))) throw refusal(name);
  return { type: name, bucket: '' as ByteString };
}

/** Riak prints the name as an Erlang binary. */
function invalidType(type: ByteString): RiakRefusal {
  const printed = type === '' ? '<<>>' : `<<${JSON.stringify(textOf(type))}>>`;
  return new RiakRefusal('NotFound', `Invalid bucket type: ${printed}`);
}

function notActive(): RiakRefusal {
  return invalidProperties('NotFound', 'not_active');
}

function invalidProperties(code: ErrorCode, why: string): RiakRefusal {
  return new RiakRefusal(code, `Invalid bucket properties: ${why}`);
}

/** The frame of the answer. Rejects with a `LockstepError`. */
export async function answerBucketCall(parts: BucketCallDependencies, call: BucketCall): Promise<Buffer> {
  switch (call.kind) {
    case 'getBucket': {
      const properties = parts.buckets.of(call.name.type, call.name.bucket);
      return messages.getBucketResp.encode({ props: rpbBucketProps(properties, parts.terms) });
    }
    case 'getBucketType': {
      const { type, bucket } = call.name;
      const properties = parts.buckets.ofType(type) ?? parts.buckets.of(type, bucket);
      return messages.getBucketResp.encode({ props: rpbBucketProps(properties, parts.terms) });
    }
    case 'setBucket':
      await parts.buckets.set(call.name.type, call.name.bucket, call.set);
      return messages.setBucketResp.encode({});
    case 'setBucketType':
      await parts.buckets.setType(call.name.type, call.set);
      return messages.setBucketResp.encode({});
    case 'resetBucket':
      await parts.buckets.reset(call.name.type, call.name.bucket);
      return messages.resetBucketResp.encode({});
    case 'preflist': {
      const { token, nodes } = parts.preflist(call.object);
      const preflist = nodes.map((node) => ({
        partition: token,
        node: bytesOf(node as string as ByteString),
        primary: true,
      }));
      return messages.preflistResp.encode({ preflist });
    }
  }
}
