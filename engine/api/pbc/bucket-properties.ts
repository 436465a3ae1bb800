/**
 * Converts bucket properties to and from RpbBucketProps. The message's fields have the names of Riak's JSON, so the
 * same rules check what a client sends (`api/property-json.ts`).
 */
import { byteStringFrom, textOf } from '../../base/ids.ts';
import type { ReplicaTerms } from '../../replication/needs.ts';
import type { BucketProperties, PropertySet } from '../../buckets/properties.ts';
import type { Keyfun } from '../../cluster/ring/token.ts';
import { readProperties, showProperties } from '../property-json.ts';
import type { RpbBucketProps, RpbModFun } from './bucket-messages.ts';
import { needOf } from './call-texts.ts';
import { quorumNames } from './schema.ts';

const keyfunNames: Readonly<Record<Keyfun, string>> = {
  STD: 'chash_std_keyfun',
  BUCKETONLY: 'chash_bucketonly_keyfun',
  CUSTOM: 'chash_custom_keyfun',
};

const quorumFields = ['r', 'w', 'pr', 'pw', 'dw', 'rw'] as const;
/** Fields with the same meaning as in JSON. */
const plainFields = [
  'n_val',
  'allow_mult',
  'last_write_wins',
  'old_vclock',
  'young_vclock',
  'big_vclock',
  'small_vclock',
  'basic_quorum',
  'notfound_ok',
  'search',
  'consistent',
  'write_once',
] as const;
/** Fields of features that this product does not have. */
const foreignFields = ['backend', 'search_index', 'datatype', 'hll_precision', 'ttl'] as const;

/** The properties that a client wants to set. Throws `BadRequest`. */
export function readBucketProps(props: RpbBucketProps, terms: ReplicaTerms): PropertySet {
  const given: Record<string, unknown> = {};
  for (const name of plainFields) if (props[name] !== undefined) given[name] = props[name];
  for (const name of quorumFields) if (props[name] !== undefined) given[name] = needOf(props[name]);
  for (const name of foreignFields) {
    const value = props[name];
    if (value !== undefined && !isNothing(value))
      given[name] = typeof value === 'number' ? value : textFrom(value);
  }
  if ((props.precommit?.length ?? 0) > 0) given['precommit'] = ['hooks'];
  if ((props.postcommit?.length ?? 0) > 0) given['postcommit'] = ['hooks'];
  if (props.repl !== undefined && props.repl !== 0) given['repl'] = props.repl;
  if (props.linkfun !== undefined) given['linkfun'] = functionOf(props.linkfun);
  if (props.chash_keyfun !== undefined) given['chash_keyfun'] = customOr(functionOf(props.chash_keyfun));
  if (props.keyfun_module !== undefined) given['wasm_keyfun'] = textFrom(props.keyfun_module);
  return readProperties(given, terms);
}

/** Properties as a message. */
export function rpbBucketProps(properties: BucketProperties, terms: ReplicaTerms): RpbBucketProps {
  const shown = showProperties(properties, terms);
  const quorum = (name: string): number => numberOf(shown[name]);
  return {
    n_val: terms.replicaCount(),
    allow_mult: properties.allowMult,
    last_write_wins: properties.lastWriteWins,
    // Both lists are given and empty: Protocol Buffers cannot distinguish an empty list from an absent one.
    has_precommit: true,
    has_postcommit: true,
    chash_keyfun: modFun('riak_core_util', keyfunNames[properties.chashKeyfun]),
    linkfun: modFun('riak_kv_wm_link_walker', 'mapreduce_linkfun'),
    old_vclock: properties.oldVclock,
    young_vclock: properties.youngVclock,
    big_vclock: properties.bigVclock,
    small_vclock: properties.smallVclock,
    pr: quorum('pr'),
    r: quorum('r'),
    w: quorum('w'),
    pw: quorum('pw'),
    dw: quorum('dw'),
    rw: quorum('rw'),
    basic_quorum: properties.basicQuorum,
    notfound_ok: properties.notfoundOk,
    search: false,
    repl: 0,
    ...(properties.wasmKeyfun === '' ? {} : { keyfun_module: Buffer.from(properties.wasmKeyfun) }),
  };
}

function modFun(module: string, name: string): RpbModFun {
  return { module: Buffer.from(module), function: Buffer.from(name) };
}

function functionOf(given: RpbModFun): { readonly mod: string; readonly fun: string } {
  return { mod: textFrom(given.module), fun: textFrom(given.function) };
}

/** Replaces the function name that stands for CUSTOM by `CUSTOM`. */
function customOr(given: { readonly mod: string; readonly fun: string }): unknown {
  return given.fun === keyfunNames.CUSTOM ? 'CUSTOM' : given;
}

function numberOf(shown: unknown): number {
  if (typeof shown === 'number') return shown;
  if (shown === 'one') return quorumNames.one;
  if (shown === 'all') return quorumNames.all;
  return shown === 'quorum' ? quorumNames.quorum : quorumNames.default;
}

/** Whether a field stands for "not set". Clients send back what they read, with empty values for what they left out. */
function isNothing(value: Uint8Array | number): boolean {
  return typeof value === 'number' ? value === 0 : value.length === 0;
}

function textFrom(bytes: Uint8Array): string {
  return textOf(byteStringFrom(bytes));
}
