/**
 * Tests a cluster's modules: registration at a start and at run time, replication, restarts, replacement, deletion, and
 * routing by them.
 */
import { expect, test } from 'vitest';
import wabt from 'wabt';

import { ModuleHarness, nodeOf } from './module-harness.ts';

const toolkit = await wabt();

function wasmOf(text: string): Buffer {
  const parsed = toolkit.parseWat('module.wat', text);
  const { buffer } = parsed.toBinary({});
  parsed.destroy();
  return Buffer.from(buffer);
}

const allocator = `(global $top (mut i32) (i32.const 4096))
  (func $alloc (param $n i32) (result i32)
    (global.get $top) (global.set $top (i32.add (global.get $top) (local.get $n))))`;

/** A phase that returns its input; `mark` makes contents differ. */
function phase(mark: number): string {
  return `(module (memory (export "memory") 1) ${allocator} (export "phase_alloc" (func $alloc))
    (func (export "phase_apply") (param i32 i32 i32 i32) (result i32)
      (i32.store (i32.const 8) (i32.const ${mark}))
      (i32.store (local.get 2) (local.get 0)) (i32.store (local.get 3) (local.get 1)) (i32.const 0)))`;
}

/** Routes by the first byte of the key, after `before`. */
function keyfun(before = ''): string {
  return `(module (memory (export "memory") 1) ${allocator} (export "keyfun_alloc" (func $alloc))
    (func (export "keyfun_route") (param i32 i32 i32 i32) (result i32) (local $key i32)
      ${before}
      (local.set $key (i32.add (i32.add (local.get 0) (i32.const 8)) (i32.load (local.get 0))))
      (i32.store (local.get 2) (local.get $key)) (i32.store (local.get 3) (i32.const 1)) (i32.const 0)))`;
}

const supplies = { toolkit, files: new Map<string, Uint8Array>([]) };
const cluster = ['n1', 'n2', 'n3'];

test('a module registered on one node, as text, is on every node when the answer comes; and after restarts', async () => {
  const room = new ModuleHarness('spread', 3, supplies);
  await room.start(...cluster);
  const { status, text } = await room.put('n1', 'echo', phase(1));
  expect([status, JSON.parse(text)]).toMatchObject([
    201,
    {
      id: 'echo',
      version: 1,
      roles: ['phase'],
      outcome: 'created',
      nodes: { held: ['n2', 'n3'], pending: [] },
    },
  ]);
  expect(await room.agree(...cluster)).toBe(true);
  const shown = await room.ask('n3', 'GET', '/wasm/modules/echo', undefined, { Accept: 'application/wasm' });
  expect([shown.status, shown.headers['content-type']]).toEqual([200, 'application/wasm']);
  expect((await room.put('n2', 'echo', phase(1))).status).toBe(200);
  for (const name of cluster) room.cluster.crash(name, 'dropAll', 'silent');
  await room.start(...cluster);
  for (const name of cluster) expect(await room.known(name)).toHaveLength(1);
  expect(room.failures()).toEqual([]);
});

test('what is changed while a node is away reaches it when it is back; a deletion too', async () => {
  const room = new ModuleHarness('away', 3, supplies);
  await room.start(...cluster);
  await room.put('n1', 'gone', phase(1));
  await room.put('n1', 'stays', phase(2));
  room.cluster.crash('n3', 'keepAll', 'reset');
  const replaced = await room.put('n2', 'stays', phase(3));
  expect([replaced.status, JSON.parse(replaced.text)]).toMatchObject([
    200,
    { outcome: 'replaced', version: 2, nodes: { held: ['n1'], pending: ['n3'] } },
  ]);
  expect((await room.ask('n2', 'DELETE', '/wasm/modules/gone')).status).toBe(200);
  expect((await room.ask('n2', 'DELETE', '/wasm/modules/gone')).status).toBe(404);
  await room.start('n3');
  expect(await room.until(() => room.agree(...cluster), 10)).toBe(true);
  expect(await room.known('n3')).toEqual(await room.known('n2'));
  expect(await room.known('n3')).toHaveLength(1);
  expect(room.failures()).toEqual([]);
});

test('two sides of a cut register different contents: all nodes settle on one of them', async () => {
  const room = new ModuleHarness('cut', 3, supplies);
  await room.start(...cluster);
  const cut = room.world.network.partition(['n1'], ['n2', 'n3']);
  expect((await room.put('n1', 'both', phase(1))).status).toBe(201);
  expect((await room.put('n2', 'both', phase(2))).status).toBe(201);
  expect(await room.agree('n1', 'n2')).toBe(false);
  cut.lift();
  expect(await room.until(() => room.agree(...cluster), 30)).toBe(true);
  expect(await room.known('n1')).toHaveLength(1);
  expect(room.failures()).toEqual([]);
});

test('a node that joins later gets the modules', async () => {
  const room = new ModuleHarness('joins', 2, supplies);
  await room.start('n1', 'n2');
  await room.put('n1', 'echo', phase(1));
  const seeds = [nodeOf(1), nodeOf(2)].map((node) => ({ ...node, address: `${node.name}:8101` }));
  room.cluster.add(nodeOf(3), { join: 'joining', seeds });
  await room.start('n3');
  expect(await room.until(async () => (await room.known('n3')).length === 1, 10)).toBe(true);
  expect(room.failures()).toEqual([]);
});

test('the configuration names modules; what was registered since then stands', async () => {
  const files = new Map<string, Uint8Array>([
    ['echo.wat', Buffer.from(phase(1))],
    ['other.wasm', wasmOf(phase(2))],
  ]);
  const settings = { store_wasm_modules: [{ id: 'echo', path: 'echo.wat' }] };
  const room = new ModuleHarness('configured', 1, { toolkit, files }, settings);
  await room.start('n1');
  const [first] = await room.known('n1');
  await room.put('n1', 'echo', phase(7));
  const since = await room.known('n1');
  expect(since).not.toEqual([first]);
  room.cluster.crash('n1', 'dropAll', 'silent');
  await room.start('n1');
  expect(await room.known('n1')).toEqual(since);
  // The file has changed: its module is registered anew.
  room.cluster.crash('n1', 'dropAll', 'silent');
  files.set('echo.wat', Buffer.from(phase(8)));
  await room.start('n1');
  expect(await room.known('n1')).not.toEqual(since);
  expect(room.failures()).toEqual([]);
});

test('a start that cannot have its modules says which and why', async () => {
  const files = new Map<string, Uint8Array>([['bad.wasm', Buffer.from('\0asm\u0002\0\0\0', 'latin1')]]);
  const failure = async (id: string, path: string): Promise<string> => {
    const settings = { store_wasm_modules: [{ id, path }] };
    const room = new ModuleHarness(`refused ${path}`, 1, { toolkit, files }, settings);
    await room.start('n1').catch(() => undefined);
    expect(room.failures()).toEqual([]);
    const [refused] = room.cluster.refusedStarts;
    expect(refused?.left).toMatchObject({ timers: 0, files: [], tasks: [], listeners: [] });
    return `${refused?.code ?? ''}: ${refused?.detail ?? ''}`;
  };
  expect(await failure('words', 'nowhere.wat')).toBe(
    'ConfigInvalid: store_wasm_modules: the module words (nowhere.wat): there is no such file',
  );
  expect(await failure('words', 'bad.wasm')).toContain(
    'store_wasm_modules: the module words (bad.wasm): not a module for this node: it is of another version of WebAssembly than 1 (byte 4)',
  );
});

test('a module that can only route keys is no phase, and a job that names it says which exports it lacks', async () => {
  const room = new ModuleHarness('no phase', 1, supplies);
  await room.start('n1');
  expect((await room.put('n1', 'router', keyfun())).status).toBe(201);
  const json = { map: { language: 'javascript', name: 'Riak.mapValuesJson' } };
  const run = async (query: readonly object[]): Promise<readonly unknown[]> => {
    const job = JSON.stringify({ inputs: [['b', 'k']], query });
    const { status, text } = await room.ask('n1', 'POST', '/mapred', job);
    return [status, text];
  };
  const refused = (index: number): readonly unknown[] => [
    400,
    `phase ${index}: the Wasm module "router" is registered, but cannot run as a phase: it does not export phase_alloc and phase_apply\n`,
  ];
  const router = { language: 'wasm', module: 'router' };
  expect(await run([{ map: router }])).toEqual(refused(0));
  expect(await run([json, { reduce: router }])).toEqual(refused(1));
  const nobody = { language: 'wasm', module: 'nobody' };
  expect(await run([{ map: nobody }])).toEqual([404, 'phase 0: no Wasm module "nobody" is registered\n']);
  expect(room.failures()).toEqual([]);
});

test('a module without the exports for it routes nothing: bucket, module and configuration are refused, and say so', async () => {
  const room = new ModuleHarness('no keyfun', 1, supplies);
  await room.start('n1');
  const route = (bucket: string, module: string) => {
    const props = { chash_keyfun: 'CUSTOM', wasm_keyfun: module };
    const body = JSON.stringify({ props });
    return room.ask('n1', 'PUT', `/buckets/${bucket}/props`, body, { 'Content-Type': 'application/json' });
  };
  await room.put('n1', 'echo', phase(1));
  const refused = await route('b', 'echo');
  expect([refused.status, refused.text]).toEqual([
    400,
    'the module echo cannot route keys: it does not export both keyfun_alloc and keyfun_route\n',
  ]);
  expect((await room.ask('n1', 'GET', '/buckets/b/props')).text).not.toContain('CUSTOM');
  expect((await route('b', 'later')).status).toBe(204);
  const late = await room.put('n1', 'later', phase(2));
  expect([late.status, late.text]).toEqual([
    400,
    expect.stringContaining('keyfun_alloc and keyfun_route; keys are routed by it, in the bucket default/b'),
  ]);
  expect((await room.put('n1', 'later', keyfun())).status).toBe(201);
  expect(room.failures()).toEqual([]);
  const files = new Map<string, Uint8Array>([['phase.wasm', wasmOf(phase(1))]]);
  const settings = {
    store_wasm_modules: [{ id: 'words', path: 'phase.wasm' }],
    bucket_types: { routed: { chash_keyfun: 'CUSTOM', wasm_keyfun: 'words' } },
  };
  const wrong = new ModuleHarness('no keyfun at start', 1, { toolkit, files }, settings);
  await wrong.start('n1').catch(() => undefined);
  expect(wrong.cluster.refusedStarts[0]).toMatchObject({
    code: 'ConfigInvalid',
    detail: expect.stringContaining('does not export both keyfun_alloc and keyfun_route') as string,
  });
});

test('a CUSTOM bucket routes by its module; without it, or when it fails, the request fails and the node lives', async () => {
  const settings = {
    bucket_types: { routed: { chash_keyfun: 'CUSTOM', wasm_keyfun: 'first', allow_mult: false } },
    wasm_fuel_max: 100_000,
  };
  const room = new ModuleHarness('routes', 3, supplies, settings);
  await room.start(...cluster);
  const path = '/types/routed/buckets/users/keys/anna-1';
  const put = async (): Promise<string> => {
    const { status, headers } = await room.ask('n2', 'PUT', path, 'x', { 'Content-Type': 'text/plain' });
    return `${status} ${headers['x-lockstep-error'] ?? ''}`;
  };
  expect(await put()).toBe('503 KeyfunUnavailable');
  await room.put('n1', 'first', keyfun());
  expect(await put()).toBe('204 ');
  expect((await room.ask('n3', 'GET', path)).text).toBe('x');
  // The module routes keys: it can be neither replaced nor deleted.
  const other = await room.put('n1', 'first', keyfun('(nop)'));
  expect([other.status, other.headers['content-type']]).toEqual([409, 'application/problem+json']);
  expect(JSON.parse(other.text)).toMatchObject({ code: 'Conflict' });
  expect((await room.ask('n1', 'DELETE', '/wasm/modules/first')).status).toBe(409);
  expect((await room.ask('n1', 'GET', path)).text).toBe('x');
  expect(room.failures()).toEqual([]);
});

test('a keyfun that traps or never ends fails its requests, and nothing else', async () => {
  const failing = {
    trap: ['(unreachable)', '500 WasmTrap'],
    endless: ['(loop $l (br $l))', '500 WasmOutOfFuel'],
    wild: [
      '(i32.store (local.get 2) (i32.const -9)) (i32.store (local.get 3) (i32.const 9)) (return (i32.const 0))',
      '500 WasmTrap',
    ],
    greedy: [
      '(if (i32.lt_s (memory.grow (i32.const 4000)) (i32.const 0)) (then (unreachable)))',
      '500 WasmMemoryLimit',
    ],
  } as const;
  const types = Object.keys(failing).map((id) => [
    id,
    { chash_keyfun: 'CUSTOM', wasm_keyfun: id, allow_mult: false },
  ]);
  const settings = { bucket_types: Object.fromEntries(types), wasm_fuel_max: 100_000 };
  const room = new ModuleHarness('failing', 3, supplies, settings);
  await room.start(...cluster);
  for (const [id, [before, expected]] of Object.entries(failing)) {
    expect((await room.put('n1', id, keyfun(before))).status).toBe(201);
    const { status, headers } = await room.ask('n2', 'GET', `/types/${id}/buckets/b/keys/k`);
    expect([id, `${status} ${headers['x-lockstep-error'] ?? ''}`]).toEqual([id, expected]);
  }
  const other = await room.ask('n2', 'PUT', '/buckets/b/keys/k', 'x', { 'Content-Type': 'text/plain' });
  expect(other.status).toBe(204);
  expect(room.failures()).toEqual([]);
});

test('two contents of one routing module, registered at once: neither routes until an operator decides', async () => {
  const settings = {
    bucket_types: { routed: { chash_keyfun: 'CUSTOM', wasm_keyfun: 'by', allow_mult: false } },
  };
  const room = new ModuleHarness('disputed', 3, supplies, settings);
  await room.start(...cluster);
  const cut = room.world.network.partition(['n1'], ['n2', 'n3']);
  await room.put('n1', 'by', keyfun());
  await room.put('n2', 'by', keyfun('(nop)'));
  cut.lift();
  expect(await room.until(() => room.agree(...cluster), 30)).toBe(true);
  const { status, text } = await room.ask('n3', 'GET', '/types/routed/buckets/b/keys/k');
  expect([status, text]).toEqual([503, expect.stringContaining('two contents of the module by')]);
  expect(JSON.parse((await room.ask('n3', 'GET', '/wasm/modules/by')).text)).toMatchObject({
    disputed: true,
  });
  expect((await room.put('n2', 'by', keyfun())).status).toBe(409);
  expect((await room.ask('n2', 'DELETE', '/wasm/modules/by')).status).toBe(200);
  expect((await room.put('n3', 'by', keyfun())).status).toBe(201);
  // The cut may have left n3 without a link to n1, which then hears of it by gossip.
  expect(await room.until(() => room.agree(...cluster), 30)).toBe(true);
  expect((await room.ask('n1', 'GET', '/types/routed/buckets/b/keys/k')).status).toBe(404);
  expect(room.failures()).toEqual([]);
});

test('what is no module is refused, and says why', async () => {
  const room = new ModuleHarness('refused', 1, supplies, { wasm_module_bytes_max: 4096 });
  await room.start('n1');
  const put = async (id: string, body: Uint8Array | string): Promise<string> => {
    const { status, text } = await room.put('n1', id, body);
    return `${status} ${(JSON.parse(text) as { detail: string }).detail}`;
  };
  expect(await put('a', 'hello')).toContain('400 neither WebAssembly');
  expect(await put('a', '(module (func $f (param i32) (resul i32)))')).toContain(
    '400 the text does not compile',
  );
  expect(await put('a', '(module)')).toContain('it exports neither keyfun_alloc and keyfun_route nor');
  expect(await put('a', `(module ${'(block '.repeat(200)} ${')'.repeat(200)})`)).toContain(
    'nests more than 100 levels',
  );
  expect(await put('a', Buffer.alloc(5000))).toContain('413');
  expect(await put('a%20b', phase(1))).toContain('400 "a b" is not a module id');
  expect((await room.ask('n1', 'GET', '/wasm/modules/none')).status).toBe(404);
  expect(room.failures()).toEqual([]);
});

test('a node without the feature says so', async () => {
  const room = new ModuleHarness('without', 2, supplies, { features_wasm: false });
  await room.start('n1', 'n2');
  const { status, text } = await room.put('n1', 'echo', phase(1));
  expect([status, JSON.parse(text)]).toMatchObject([501, { code: 'WasmNotImplemented' }]);
  expect(room.failures()).toEqual([]);
});
