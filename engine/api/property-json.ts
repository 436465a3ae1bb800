/**
 * Converts bucket properties to and from Riak's JSON: `{"props": {…}}` over HTTP, and the fields of RpbBucketProps by
 * the same names.
 *
 * Each of Riak's properties is either stored and enforced, or accepted only with the value that this product always
 * has. A value that the product cannot honour is refused with the allowed ones; it is never stored and ignored.
 */
import { LockstepError } from '../base/errors.ts';
import type { ReplicaTerms } from '../replication/needs.ts';
import type { BucketProperties, Need, PropertySet, PropertyValue } from '../buckets/properties.ts';
import { parseProperty, propertyTable } from '../buckets/properties.ts';
import type { Keyfun } from '../cluster/ring/token.ts';

/** Riak's names of the functions that hash a key. */
const keyfunFunctions: ReadonlyMap<string, Keyfun> = new Map([
  ['chash_std_keyfun', 'STD'],
  ['chash_bucketonly_keyfun', 'BUCKETONLY'],
]);

const linkfun = { mod: 'riak_kv_wm_link_walker', fun: 'mapreduce_linkfun' };

/** Riak's properties that have one fixed meaning here, each with the values that are accepted. */
const fixedProperties: ReadonlyMap<string, readonly unknown[]> = new Map<string, readonly unknown[]>([
  ['precommit', [[]]],
  ['postcommit', [[]]],
  ['has_precommit', [false]],
  ['has_postcommit', [false]],
  ['linkfun', [linkfun]],
  ['sync_on_write', ['backend', 'default']],
  ['dvv_enabled', [true]],
  ['search', [false]],
  ['repl', [false, 'false']],
  ['consistent', [false]],
  ['write_once', [false]],
]);

/** Quorums that must wait for at least one replica; those below may wait for none. */
const waitingNeeds = ['r', 'w', 'rw'];
const extraNeeds = ['pr', 'pw', 'dw', 'node_confirms'];

/**
 * Parses the properties that a client wants to set. `given`: the members of `props`. Throws `BadRequest`, naming the
 * property, the given value and the allowed ones.
 */
export function readProperties(given: Readonly<Record<string, unknown>>, terms: ReplicaTerms): PropertySet {
  const set = new Map<string, PropertyValue>();
  for (const [name, value] of Object.entries(given)) {
    if (name === 'name') continue;
    if (name === 'n_val') checkCopies(value, terms.replicaCount());
    else if (fixedProperties.has(name)) checkFixed(name, value);
    else set.set(name, readOne(name, value, terms.replicaCount()));
  }
  return set;
}

/** Properties as a client reads them. `name` is the bucket's; absent for a type. */
export function showProperties(
  properties: BucketProperties,
  terms: ReplicaTerms,
  name?: string,
): Readonly<Record<string, unknown>> {
  const shown: Record<string, unknown> = name === undefined ? {} : { name };
  shown['n_val'] = terms.replicaCount();
  for (const [property, { field }] of propertyTable) shown[property] = properties[field];
  shown['r'] = shownNeed(properties.r, terms.readLevel);
  shown['w'] = shownNeed(properties.w, terms.writeLevel);
  shown['dw'] = shownNeed(properties.dw, terms.writeLevel);
  shown['rw'] = shownNeed(properties.rw, terms.writeLevel);
  for (const [property, values] of fixedProperties) {
    if (!property.startsWith('has_')) shown[property] = values[0];
  }
  return shown;
}

function readOne(name: string, value: unknown, copies: number): PropertyValue {
  const row = propertyTable.get(name);
  if (row === undefined) {
    const known = ['n_val', ...propertyTable.keys(), ...fixedProperties.keys()].join(', ');
    throw new LockstepError('BadRequest', `${name} is not a bucket property; allowed: ${known}`);
  }
  const isNeed = waitingNeeds.includes(name) || extraNeeds.includes(name);
  const plain = name === 'chash_keyfun' ? keyfunOf(value) : isNeed ? numberOf(value) : value;
  const read = parseProperty(name, plain);
  if (isNeed) {
    const least = waitingNeeds.includes(name) ? 1 : 0;
    const fits = typeof read !== 'number' || (read >= least && read <= copies);
    if (read !== undefined && fits) return read;
    throw refused(
      name,
      value,
      `a number from ${least} to ${copies} (the copies of a datacenter), 'one', 'quorum', 'all' or 'default'`,
    );
  }
  if (read === undefined) throw refused(name, value, row.allowed);
  return read;
}

function checkCopies(given: unknown, copies: number): void {
  if (given === copies) return;
  throw refused('n_val', given, `${copies}, since every rack of a datacenter keeps one copy`);
}

function checkFixed(name: string, given: unknown): void {
  const values = (fixedProperties.get(name) ?? []).map((value) => JSON.stringify(value));
  if (!values.includes(JSON.stringify(given))) throw refused(name, given, values.join(' or '));
}

function refused(name: string, given: unknown, allowed: string): LockstepError {
  const shown = (JSON.stringify(given) as string | undefined) ?? 'nothing';
  const short = shown.length > 64 ? `${shown.slice(0, 64)}…` : shown;
  return new LockstepError('BadRequest', `${name}: ${short} given; allowed: ${allowed}`);
}

/** The hash function from Riak's `{"mod": "riak_core_util", "fun": "chash_std_keyfun"}`, or its plain name. */
function keyfunOf(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given;
  const fun: unknown = Reflect.get(given, 'fun');
  return typeof fun === 'string' ? keyfunFunctions.get(fun) : undefined;
}

function numberOf(given: unknown): unknown {
  return typeof given === 'string' && /^\d{1,9}$/.test(given) ? Number(given) : given;
}

function shownNeed(need: Need, level: ReplicaTerms['readLevel']): Need {
  if (need !== 'default') return need;
  return level === 'DC_ONE' ? 'one' : 'quorum';
}
