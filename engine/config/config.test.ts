import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';

import { parseNodeId } from '../base/ids.ts';
import { present } from '../base/assert.ts';
import { defaultProperties } from '../buckets/properties.ts';
import { tokensOfNode } from '../cluster/ring/token.ts';
import type { Environment } from './config.ts';
import { defaultConfig, parseConfig } from './config.ts';
import { fileBytesMax } from './document.ts';
import type { ConfigFault } from './faults.ts';
import { ConfigError, nearestName } from './faults.ts';
import { keyOf, variableOf } from './config-key.ts';
import { configFields, configKeys } from './keys.ts';
import { membersOf } from './cross-field-checks.ts';
import { keyReferences } from './reference.ts';

const fileName = 'lockstep.yaml';
const nodeId = (name: string) => present(parseNodeId(name), 'a node id');

function configOf(keys: object, environment: Environment = {}) {
  return parseConfig(stringify({ pool: keys }), environment, fileName);
}

function faultsOf(yamlText: string, environment: Environment = {}): readonly ConfigFault[] {
  try {
    parseConfig(yamlText, environment, fileName);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

const faultLines = (keys: object, environment: Environment = {}) => {
  const faults = faultsOf(stringify({ pool: keys }), environment);
  return new ConfigError(faults).message.split('\n');
};

describe('defaults', () => {
  it('a name alone is a configuration', () => {
    const config = configOf({ name: 'n1' });
    expect(config).toMatchObject({
      pool: 'pool',
      name: 'n1',
      listen: '127.0.0.1:8098',
      pbListen: '127.0.0.1:8087',
      peerListen: '127.0.0.1:8101',
      statsListen: '127.0.0.1:22222',
      sync: { kind: 'always' },
      readConsistency: 'DC_QUORUM',
    });
    expect(config.tokens).toEqual(tokensOfNode(nodeId('n1'), 16));
    expect(config.bucketTypes.get('default')).toEqual(defaultProperties);
  });

  it('every default is a value that the file may give', () => {
    for (const field of configFields) {
      const { kind, fallback } = configKeys[field];
      const problems: string[] = [];
      if (fallback !== undefined) kind.read(fallback, '', (path, problem) => problems.push(path + problem));
      expect({ field, problems }).toEqual({ field, problems: [] });
    }
  });

  it('an embedder gets the defaults with its overrides, under the same rules', () => {
    const overrides = { name: nodeId('n1'), listen: undefined, requestTimeoutMs: 77 };
    expect(defaultConfig('pool', overrides)).toEqual(
      configOf({ name: 'n1', listen: 'off', request_timeout_ms: 77 }),
    );
    expect(() => defaultConfig('pool', { name: nodeId('n1'), listen: 'n1:8098' })).toThrow(/insecure/);
  });
});

describe('the file', () => {
  it('all faults are reported at once, each with its line, what was given and what is allowed', () => {
    const yaml = 'pool:\n  nmae: n1\n  num_tokens: 300\n  sync: soon\n  bucket_types: {a: {allow_mult: 5}}\n';
    expect(faultsOf(yaml)).toEqual([
      { source: fileName, key: 'name', problem: 'must be given; allowed: 1 to 64 of A-Z a-z 0-9 _ . -' },
      { source: fileName, line: 2, key: 'nmae', problem: 'unknown key; the nearest known key is name' },
      {
        source: fileName,
        line: 3,
        key: 'num_tokens',
        problem: '300 given; allowed: a whole number of tokens from 1 to 256',
      },
      {
        source: fileName,
        line: 4,
        key: 'sync',
        problem: '"soon" given; allowed: always, or a whole number of ms from 1 to 60000',
      },
      {
        source: fileName,
        line: 5,
        key: 'bucket_types.a.allow_mult',
        problem: '5 given; allowed: true or false',
      },
    ]);
  });

  it('a key may be written with points, or inside a map of its prefix', () => {
    const modules = [{ id: 'words', path: 'words.wat' }];
    const wanted = configOf({
      name: 'n1',
      store_wasm_modules: modules,
      aae_throttle: 0,
      features_wasm: false,
    });
    const points = { 'store.wasm_modules': modules, 'aae.throttle': 0, 'features.wasm': false };
    expect(configOf({ name: 'n1', ...points })).toEqual(wanted);
    const maps = { store: { wasm_modules: modules }, aae: { throttle: 0 }, features: { wasm: false } };
    expect(configOf({ name: 'n1', ...maps })).toEqual(wanted);
  });

  it('a key given in two spellings is a fault, and so is an unknown key in a group', () => {
    expect(faultLines({ name: 'n1', aae_throttle: 0, aae: { throttle: 1, throtle: 2 } })).toEqual([
      'lockstep.yaml:4: aae.throttle: aae_throttle is given twice',
      'lockstep.yaml:4: aae.throtle: unknown key; the nearest known key is aae_throttle',
    ]);
    expect(faultLines({ name: 'n1', aae: { enabled: { a: 1 } } })).toEqual([
      'lockstep.yaml:3: aae_enabled: a map of 1 given; allowed: true or false',
    ]);
  });

  it('a key inside a seed is checked like any other', () => {
    const seed = { name: 'n2', adress: 'h:1', datacenter: 'dc1', rack: 'r2' };
    expect(faultLines({ name: 'n1', seeds: [seed] })).toEqual([
      'lockstep.yaml:3: seeds[0].address: must be given; allowed: host:port with a port from 1 to 65535',
      'lockstep.yaml:3: seeds[0].adress: unknown key; the nearest known key is address',
    ]);
  });

  it.each([
    ['two documents', 'a:\n  name: n\n---\nb:\n', /multiple documents; one is wanted$/],
    ['two pools', 'a:\n  name: n\nb:\n  name: n\n', /one root key/],
    ['a pool without keys', 'a: 5\n', /the keys of a pool/],
    ['an empty file', '', /one root key/],
    ['a key given twice', 'a:\n  name: n\n  name: m\n', /unique/],
    ['a tag', 'a:\n  name: !secret n\n', /tag/i],
    ['an alias of itself', 'a:\n  name: n\n  tokens: &a [*a]\n', /a list of 1 given/],
    ['an alias of nothing', 'a:\n  name: *n\n', /no anchor above/],
    ['an alias bomb', bomb(), /aliases/],
    ['deep nesting', `a: ${'['.repeat(100_000)}`, /nests more than 16/],
    ['deep blocks', `a:\n  ${'- '.repeat(50_000)}`, /nests more than 16/],
    ['a large file', `a:\n  name: ${'n'.repeat(fileBytesMax)}`, /bytes; allowed: at most/],
    ['a pool name that is no name', 'a b:\n  name: n\n', /root key/],
    ['a key that is no text', 'a:\n  name: n\n  ? [x]\n  : 1\n', /unknown key/],
    ['a control character', 'a:\n  name: n\n  cluster_id: "a\\nb"\n', /control characters/],
  ])('%s is refused by name', (_, yaml, problem) => {
    expect(faultsOf(yaml).map((fault) => fault.problem)).toEqual([expect.stringMatching(problem)]);
  });
});

describe('values', () => {
  it.each([
    ['always', { kind: 'always' }],
    [1, { kind: 'interval', intervalMs: 1 }],
    [60_000, { kind: 'interval', intervalMs: 60_000 }],
  ])('sync: %s', (given, sync) => {
    expect(configOf({ name: 'n1', sync: given }).sync).toEqual(sync);
  });

  it.each([0, 60_001, 1.5, 'never', null, true])('sync: %s is refused', (sync) => {
    expect(faultLines({ name: 'n1', sync })).toEqual([expect.stringContaining('sync:')]);
  });

  it.each(['127.0.0.1', ':80', 'h:65536', '::1:80', '[::1]', 'h:-1', 'a b:1', 'http://h:1', 80, '[x]:1'])(
    'the address %s is refused',
    (listen) => {
      expect(faultLines({ name: 'n1', insecure: true, listen })).toEqual([
        expect.stringContaining('host:port'),
      ]);
    },
  );

  it('client_hosts is a list of names without ports, in any case, or any, or auto', () => {
    const given = (client_hosts: unknown): unknown => configOf({ name: 'n1', client_hosts }).clientHosts;
    expect(given(['KV.Example', 'n1', 'a_b-c.d', 7])).toEqual(['kv.example', 'n1', 'a_b-c.d', '7']);
    expect(configOf({ name: 'n1' }).clientHosts).toBe('auto');
    expect([given('auto'), given('any'), given([])]).toEqual(['auto', 'any', []]);
    const wrong = ['kv', 'ANY', true, ['n1:80'], ['a..b'], ['.a'], ['-a'], [''], ['x'.repeat(64)], ['*.a']];
    for (const client_hosts of wrong) {
      expect(faultLines({ name: 'n1', client_hosts })).toEqual([expect.stringContaining('or auto, or any')]);
    }
  });

  it.each(['127.0.0.1:1', '127.9.9.9:0', 'localhost:80', 'LOCALHOST:80', '[::1]:80', '[0:0:0:0:0:0:0:1]:80'])(
    'the loopback address %s needs no leave',
    (listen) => {
      expect(configOf({ name: 'n1', listen }).listen).toBe(listen);
    },
  );

  it.each([
    '0.0.0.0:1',
    '[::]:1',
    'example.org:1',
    '10.0.0.1:1',
    '127.0.0.1.example.org:1',
    '1127.0.0.1:1',
    '[::2]:1',
  ])('the address %s is refused unless insecure says so', (listen) => {
    expect(faultLines({ name: 'n1', listen })).toEqual([expect.stringContaining('set insecure: true')]);
    expect(configOf({ name: 'n1', listen, insecure: true }).listen).toBe(listen);
  });

  it('a listener that other machines can reach needs TLS and credentials, and the fault names what is missing', () => {
    const open = { name: 'n1', redis_listen: '0.0.0.0:1', peer_listen: '0.0.0.0:2' };
    const tls = { cert: 'c.pem', key: 'k.pem' };
    const peerTls = { ...tls, ca: 'ca.pem' };
    const redis = expect.stringMatching(
      /redis_listen: .* set tls: {cert, key} and credentials: FILE/,
    ) as string;
    const peers = expect.stringMatching(/peer_listen: .* set peer_tls: {cert, key, ca}, or/) as string;
    expect(faultLines(open)).toEqual([redis, peers]);
    expect(faultLines({ ...open, tls, peer_tls: peerTls })).toEqual([
      expect.stringMatching(/redis_listen: .* set credentials: FILE .*, or/),
    ]);
    expect(configOf({ ...open, tls, peer_tls: peerTls, credentials: 'f' })).toMatchObject({
      tls: { ...tls, ca: undefined },
      peerTls,
      credentials: 'f',
    });
  });

  it.each([
    ['peer_tls', { cert: 'c', key: 'k' }, /peer_tls.ca: must be given/],
    ['tls', { cert: 'c', kye: 'k' }, /the nearest known key is key/],
    ['tls', 'on', /"on" given; allowed: a map with cert, key, ca, or off/],
    ['credentials', 5, /5 given, which is a number: put it in quotes; allowed: a text .*, or off/],
  ])('%s: %j is refused by name', (key, given, problem) => {
    expect(faultLines({ name: 'n1', [key]: given }).join('\n')).toMatch(problem);
  });

  it('variables of commands are no keys, although they have the prefix', () => {
    for (const name of ['LOCKSTEP_TOKEN', 'LOCKSTEP_S3_ADDRESSING'])
      expect(configOf({ name: 'n1' }, { [name]: 'path' }).name).toBe('n1');
  });

  it('listeners that share an address are refused', () => {
    expect(faultLines({ name: 'n1', stats_listen: '127.0.0.1:8098' })).toEqual([
      'lockstep.yaml:3: stats_listen: 127.0.0.1:8098 is the address of listen too; addresses must differ',
    ]);
  });

  it('a frame must hold the largest value', () => {
    expect(faultLines({ name: 'n1', value_bytes_max: 1 << 25 })).toEqual([
      expect.stringContaining('frame_bytes_max: 33554432 given; allowed: at least 33816576'),
    ]);
  });

  it('allow_mult and last_write_wins exclude each other, and other types than default keep siblings', () => {
    const types = { a: {}, b: { last_write_wins: true }, default: { allow_mult: true } };
    expect([...configOf({ name: 'n1', bucket_types: types }).bucketTypes]).toEqual([
      ['default', { ...defaultProperties, allowMult: true }],
      ['a', { ...defaultProperties, allowMult: true }],
      ['b', { ...defaultProperties, lastWriteWins: true }],
    ]);
    const both = { a: { allow_mult: true, last_write_wins: true } };
    expect(faultLines({ name: 'n1', bucket_types: both })).toEqual([expect.stringContaining('at most one')]);
  });

  it('a bucket type can set every property of a bucket, and no other', () => {
    const types = { users: { chash_keyfun: 'BUCKETONLY', w: 'all', pr: 1 } };
    expect(configOf({ name: 'n1', bucket_types: types }).bucketTypes.get('users')).toEqual({
      ...defaultProperties,
      allowMult: true,
      chashKeyfun: 'BUCKETONLY',
      w: 'all',
      pr: 1,
    });
    expect(faultLines({ name: 'n1', bucket_types: { a: { w: 'most' } } })).toEqual([
      expect.stringContaining(`.a.w: "most" given; allowed: a whole number, 'one', 'quorum'`),
    ]);
    expect(faultLines({ name: 'n1', bucket_types: { a: { allow_multi: true } } })).toEqual([
      expect.stringContaining('allow_mult'),
    ]);
  });
});

describe('members', () => {
  const n2 = { name: 'n2', address: 'h2:8101', datacenter: 'dc1', rack: 'r1' };

  it('a joining node needs seeds', () => {
    expect(configOf({ name: 'n1', join: 'joining', seeds: [n2] }).join).toBe('joining');
    expect(faultLines({ name: 'n1', join: 'joining' })).toEqual([
      expect.stringContaining('join: joining given without seeds; allowed: member, or name nodes'),
    ]);
    expect(faultLines({ name: 'n1', join: 'soon' })).toEqual([
      expect.stringContaining('one of member, joining'),
    ]);
  });

  it('a node with a wildcard listener must advertise an address', () => {
    const open = { name: 'n1', insecure: true, peer_listen: '0.0.0.0:8101', seeds: [n2] };
    for (const peer_listen of ['0.0.0.0:8101', '[::]:8101', '[::0]:8101', '[0:0:0:0:0:0:0:0]:8101', '0:8101'])
      expect(faultLines({ ...open, peer_listen })).toEqual([
        expect.stringContaining('peer_advertise: auto given while'),
      ]);
    expect(configOf({ ...open, peer_advertise: 'h1:8101' }).peerAdvertise).toBe('h1:8101');
    expect(configOf({ ...open, seeds: [] }).peerAdvertise).toBeUndefined();
    expect(faultLines({ ...open, peer_advertise: 'h1:0' })).toEqual([
      expect.stringContaining('1 to 65535, or auto'),
    ]);
  });

  it('a seed has the given tokens, or those derived from its name', () => {
    const seeds = [
      { ...n2, tokens: [9, 3] },
      { ...n2, name: 'n3', address: 'h3:1', num_tokens: 2 },
      { ...n2, name: 'n4', address: 'h4:1' },
    ];
    const config = configOf({ name: 'n1', seeds });
    expect(config.seeds.map((seed) => seed.tokens)).toEqual([
      [3, 9],
      tokensOfNode(nodeId('n3'), 2),
      tokensOfNode(nodeId('n4'), 16),
    ]);
    expect(membersOf(config).map((member) => member.node)).toEqual(['n1', 'n2', 'n3', 'n4']);
  });

  it('all nodes may share one list: an entry of the node itself is left out when it agrees', () => {
    const self = { ...n2, name: 'n1', address: '127.0.0.1:8101' };
    expect(configOf({ name: 'n1', seeds: [self, n2] }).seeds.map((seed) => seed.node)).toEqual(['n2']);
    expect(faultLines({ name: 'n1', seeds: [{ ...self, rack: 'r9' }] })).toEqual([
      expect.stringContaining('the entry of n1 itself'),
    ]);
  });

  it('an address belongs to one node: two seeds, or this node and a seed, cannot share one', () => {
    const n3 = { ...n2, name: 'n3' };
    const words = (keys: object): readonly string[] => faultLines({ name: 'n1', ...keys });
    expect(words({ seeds: [n2, n3] })).toEqual([
      expect.stringContaining(`seeds: n3 has the address ${n2.address} of n2; addresses must differ`),
    ]);
    expect(words({ peer_listen: n2.address, insecure: true, seeds: [n2] })).toEqual([
      expect.stringContaining(
        `seeds: n2 has the address ${n2.address} of n1, this node; addresses must differ`,
      ),
    ]);
  });

  it('a token belongs to one node of a rack', () => {
    const keys = { name: 'n1', tokens: [1, 7], seeds: [{ ...n2, tokens: [7] }] };
    expect(faultLines(keys)).toEqual([expect.stringContaining('both have the token 7')]);
  });

  it('a node is listed once', () => {
    expect(faultLines({ name: 'n1', seeds: [n2, n2] })).toEqual([expect.stringContaining('given twice')]);
  });

  it('tokens and num_tokens exclude each other', () => {
    expect(faultLines({ name: 'n1', tokens: [1], num_tokens: 1 })).toEqual([
      expect.stringContaining('one of them'),
    ]);
  });
});

describe('an unquoted text that YAML reads as a number', () => {
  it.each(['0x1F', '1e3', '012', '0o17', '1.0', '-0'])(
    '%s is a name whose spelling would be lost, and is refused with what helps',
    (written) => {
      const value = String(parse(written, { schema: 'core' }));
      const lines = (yaml: string): string[] =>
        faultsOf(yaml).map(({ key, problem }) => `${key}: ${problem}`);
      const words = `${written} given, which YAML reads as the number ${value}: put it in quotes; allowed: 1 to 64 of`;
      expect(lines(`pool:\n  name: ${written}\n`)).toEqual([expect.stringContaining(`name: ${words}`)]);
      expect(lines(`pool:\n  name: n1\n  rack: ${written}\n`)).toEqual([
        expect.stringContaining(`rack: ${words}`),
      ]);
      const seeds = `pool:\n  name: n1\n  seeds: [{name: ${written}, address: h:1, datacenter: dc1, rack: r2}]\n`;
      expect(lines(seeds)).toEqual([expect.stringContaining(`seeds[0].name: ${words}`)]);
      expect(lines(`pool:\n  name: n1\n  bucket_types: {${written}: {}}\n`)).toEqual([
        expect.stringContaining(`bucket_types.${written}: ${written} given, which YAML reads as the number`),
      ]);
      expect(faultLines({ name: 'n1' }, { LOCKSTEP_RACK: written })).toEqual([
        expect.stringContaining(`LOCKSTEP_RACK: rack: ${words}`),
      ]);
    },
  );

  it('is given twice if two spellings of one map mean it', () => {
    const yaml = 'pool:\n  name: n1\n  bucket_types: {7: {w: one}, "7": {w: all}}\n';
    expect(faultsOf(yaml)).toEqual([expect.objectContaining({ key: 'bucket_types.7' })]);
  });

  it('is kept if it is quoted, if its spelling is the number’s, and if it is no number', () => {
    const names = ['"0x1F"', '"012"', '7', 'on', 'no', '1_000', '0b11', '1.2.3', 'null-1'];
    for (const written of names) {
      const config = parseConfig(`pool:\n  name: ${written}\n  rack: ${written}\n`, {}, fileName);
      const plain = written.replaceAll('"', '');
      expect(config).toMatchObject({ name: plain, rack: plain });
    }
    const replacement = parseConfig(
      'pool:\n  name: 8\n  join: joining\n  replace: 7\n  seeds: [{name: 7, address: h:1, datacenter: dc1, rack: r1}, {name: 6, address: h:2, datacenter: dc1, rack: r2}]\n',
      {},
      fileName,
    );
    expect(replacement.replace).toBe('7');
  });

  it('is that number where a number is expected, and the pool’s name as written', () => {
    const yaml =
      '012:\n  name: n1\n  request_timeout_ms: 0x1F4\n  value_bytes_max: 1e6\n  tokens: [0x10, 012]\n';
    const config = parseConfig(yaml, {}, fileName);
    expect(config).toMatchObject({
      pool: '012',
      requestTimeoutMs: 500,
      valueBytesMax: 1_000_000,
      tokens: [12, 16],
    });
  });

  it('is refused with a hint to quote it, unless quotes would not help', () => {
    expect(faultLines({ name: 'n1', listen: 8098, log_level: true })).toEqual([
      expect.stringContaining('listen: 8098 given; allowed: host:port'),
      expect.stringContaining('log_level: true given; allowed: one of'),
    ]);
    expect(faultLines({ name: 'n1', cluster_id: 7 })).toEqual([
      expect.stringContaining('cluster_id: 7 given, which is a number: put it in quotes; allowed: a text'),
    ]);
    expect(faultLines({ name: true })).toEqual([
      expect.stringContaining('name: true given, which is no text: put it in quotes; allowed: 1 to 64'),
    ]);
  });
});

describe('the environment', () => {
  it('a variable wins over the file, and is read as YAML', () => {
    const environment = {
      LOCKSTEP_RACK: 'r7',
      LOCKSTEP_TOKENS: '[3, 1]',
      LOCKSTEP_LISTEN: 'off',
      PATH: '/bin',
    };
    const config = configOf({ name: 'n1', rack: 'r1' }, environment);
    expect(config).toMatchObject({ rack: 'r7', tokens: [1, 3], listen: undefined });
  });

  it('an unknown variable with the prefix is refused, naming the nearest', () => {
    expect(faultLines({ name: 'n1' }, { LOCKSTEP_RAK: 'r7' })).toEqual([
      'LOCKSTEP_RAK: unknown key; the nearest known key is LOCKSTEP_RACK',
    ]);
  });

  it('a bad value names its variable', () => {
    expect(faultLines({ name: 'n1' }, { LOCKSTEP_SYNC: 'soon', LOCKSTEP_SEEDS: '[' })).toEqual([
      'LOCKSTEP_SEEDS: seeds: "[" given, which is not valid YAML',
      expect.stringContaining('LOCKSTEP_SYNC: sync: "soon" given; allowed: always'),
    ]);
  });
});

describe('any input', () => {
  const name = fc.stringMatching(/^[A-Za-z0-9_.-]{1,16}$/);
  const key = fc.oneof(fc.constantFrom(...configFields.map(keyOf)), name, fc.string());

  it('text is a configuration or a list of faults, nothing else', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '\n',
        '  ',
        '- ',
        ': ',
        '&a ',
        '*a',
        '{',
        '}',
        '[',
        ']',
        '? ',
        '!t ',
        '"',
        "'",
        '|',
        '%',
        '#',
        ',',
      ),
      key,
    );
    const input = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(piece, { maxLength: 60 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(input, fc.boolean(), (yaml, below) => {
        expect(faultsOf(below ? `pool:\n  ${yaml}` : yaml).length).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 2000 },
    );
  });

  it('any YAML value under any key is a configuration or a list of faults', () => {
    fc.assert(
      fc.property(fc.dictionary(key, fc.jsonValue({ maxDepth: 3 })), fc.jsonValue(), (keys, value) => {
        expect(faultsOf(stringify({ pool: keys }), { LOCKSTEP_SEEDS: JSON.stringify(value) })).toBeDefined();
      }),
      { numRuns: 1000 },
    );
  });

  it('written values read back, from the file and from the environment', () => {
    const member = fc.record({
      name: name.map((given) => `n${given}`),
      address: fc.nat(65_534).map((port) => `host-${port}.example:${port + 1}`),
      datacenter: name,
      rack: name,
      num_tokens: fc.integer({ min: 1, max: 8 }),
    });
    const keys = fc.record({
      name: fc.constantFrom('a', 'b.c', '7', 'true', 'null'),
      cluster_id: fc
        .string({ minLength: 1, maxLength: 64, unit: 'grapheme' })
        .filter((id) => id.length <= 64 && !/\p{Cc}/u.test(id)),
      seeds: fc.uniqueArray(member, {
        maxLength: 5,
        comparator: (one, other) => one.name === other.name || one.address === other.address,
      }),
      sync: fc.oneof(fc.constant('always'), fc.integer({ min: 1, max: 60_000 })),
      request_timeout_ms: fc.integer({ min: 10, max: 600_000 }),
      read_consistency: fc.constantFrom('dc_one', 'DC_SAFE_QUORUM'),
      insecure: fc.boolean(),
    });
    fc.assert(
      fc.property(keys, (given) => {
        const config = configOf(given);
        expect(config.name).toBe(given.name);
        expect(config.clusterId).toBe(given.cluster_id);
        expect(config.seeds.map((seed) => seed.address)).toEqual(given.seeds.map((seed) => seed.address));
        expect(config.requestTimeoutMs).toBe(given.request_timeout_ms);
        expect(config.readConsistency).toBe(given.read_consistency.toUpperCase());
        const variables = Object.entries(given).map(([field, value]) => [
          `LOCKSTEP_${field.toUpperCase()}`,
          stringify(value),
        ]);
        const environment = Object.fromEntries(variables) as Environment;
        expect(configOf({ name: 'other' }, environment)).toEqual(config);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the reference', () => {
  it('lists every key with its variable, default, range and help, and its defaults are those of the table', () => {
    const references = keyReferences();
    expect(references.map(({ key }) => key)).toEqual(configFields.map(keyOf));
    expect(references.map(({ variable }) => variable)).toEqual(configFields.map(variableOf));
    const given = references.flatMap(({ key, fallback }) =>
      // `tokens` and `num_tokens` exclude each other.
      fallback === undefined || key === 'num_tokens' ? [] : [[key, parse(fallback) as unknown]],
    );
    const keys: object = { name: 'n1', ...Object.fromEntries(given) };
    expect(configOf(keys)).toEqual(configOf({ name: 'n1' }));
    for (const { help, allowed } of references) expect(help.length * allowed.length).toBeGreaterThan(0);
  });
});

describe('the nearest name', () => {
  it('is the one with the fewest edits, ignoring case', () => {
    expect(nearestName(['listen', 'pb_listen', 'rack'], 'LISTNE')).toBe('listen');
    expect(nearestName(['listen', 'pb_listen', 'rack'], 'pblisten')).toBe('pb_listen');
    expect(nearestName([], 'x')).toBeUndefined();
  });

  it('is the name itself when it is known', () => {
    fc.assert(
      fc.property(fc.constantFrom(...configFields.map(keyOf)), (known) => {
        expect(nearestName(configFields.map(keyOf), known)).toBe(known);
      }),
    );
  });
});

function bomb(): string {
  const levels = ['a: &a [x, x, x, x, x, x, x, x, x]'];
  for (const [from, to] of ['ab', 'bc', 'cd', 'de']) {
    levels.push(`${to}: &${to} [${Array.from({ length: 9 }, () => `*${from}`).join(', ')}]`);
  }
  return `pool:\n  ${levels.join('\n  ')}\n`;
}
