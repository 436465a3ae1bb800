import fc from 'fast-check';
import { expect, test } from 'vitest';

import { LockstepError } from '../base/errors.ts';
import type { ReplicaTerms } from '../replication/needs.ts';
import { defaultProperties, withProperties } from '../buckets/properties.ts';
import { readProperties, showProperties } from './property-json.ts';

const terms: ReplicaTerms = { readLevel: 'DC_QUORUM', writeLevel: 'DC_ONE', replicaCount: () => 3 };

function refusalOf(given: Record<string, unknown>): string {
  try {
    readProperties(given, terms);
    return 'accepted';
  } catch (error) {
    return error instanceof LockstepError ? `${error.code}: ${error.message}` : String(error);
  }
}

test('properties as shown can be written back and change nothing', () => {
  const set = fc.record(
    {
      allow_mult: fc.boolean(),
      r: fc.constantFrom(1, 3, 'one', 'quorum', 'all', 'default'),
      pw: fc.constantFrom(0, 2, 'quorum'),
      chash_keyfun: fc.constantFrom('STD', 'BUCKETONLY', 'CUSTOM'),
      wasm_keyfun: fc.constantFrom('', 'by-owner'),
      notfound_ok: fc.boolean(),
      big_vclock: fc.integer({ min: 1, max: 100 }),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(set, (given) => {
      const before = withProperties(defaultProperties, readProperties(given, terms));
      const shown = showProperties(before, terms, 'b');
      const after = withProperties(defaultProperties, readProperties({ ...shown }, terms));
      expect(showProperties(after, terms, 'b')).toEqual(shown);
      expect(withProperties(defaultProperties, readProperties(given, terms))).toEqual(before);
    }),
  );
});

test('Riak’s aliases are accepted', () => {
  const given = {
    chash_keyfun: { mod: 'riak_core_util', fun: 'chash_bucketonly_keyfun' },
    w: '2',
    n_val: 3,
    name: 'whatever',
    precommit: [],
    linkfun: { mod: 'riak_kv_wm_link_walker', fun: 'mapreduce_linkfun' },
  };
  expect([...readProperties(given, terms)]).toEqual([
    ['chash_keyfun', 'BUCKETONLY'],
    ['w', 2],
  ]);
});

test('an unsupported value is refused with the allowed values', () => {
  expect(refusalOf({ n_val: 5 })).toBe(
    'BadRequest: n_val: 5 given; allowed: 3, since every rack of a datacenter keeps one copy',
  );
  expect(refusalOf({ w: 4 })).toContain(
    "w: 4 given; allowed: a number from 1 to 3 (the copies of a datacenter), 'one'",
  );
  expect(refusalOf({ r: 0 })).toContain('a number from 1 to 3');
  expect(refusalOf({ pr: 0 })).toBe('accepted');
  expect(refusalOf({ pr: -1 })).toContain('a number from 0 to 3');
  expect(refusalOf({ allow_mult: 'yes' })).toBe(
    'BadRequest: allow_mult: "yes" given; allowed: true or false',
  );
  expect(refusalOf({ chash_keyfun: { mod: 'mine', fun: 'f' } })).toContain('one of STD, BUCKETONLY, CUSTOM');
  expect(refusalOf({ precommit: [{ name: 'f' }] })).toContain('precommit: [{"name":"f"}] given; allowed: []');
  expect(refusalOf({ allow_multi: true })).toContain(
    'allow_multi is not a bucket property; allowed: n_val, allow_mult',
  );
  expect(refusalOf({ sync_on_write: 'one' })).toContain('allowed: "backend" or "default"');
});

test('any JSON yields properties or a BadRequest that names a property', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('r', 'w', 'n_val', 'linkfun', 'x'), fc.jsonValue()),
      (given) => {
        expect(refusalOf(given)).toMatch(/^(accepted$|BadRequest: )/);
      },
    ),
    { numRuns: 500 },
  );
});
