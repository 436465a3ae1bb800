/**
 * The curl lines of engine/docs/cookbook.md about links, MapReduce and Wasm modules, run against a cluster of three
 * real processes.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { decodeReply, encodeRequest } from '../../api/pbc/client-codec.ts';
import { FrameReader } from '../../api/pbc/frames.ts';
import { TestingCluster } from './cluster.fixture.ts';

const basePort = 15_198;
/** The port of node 1 in the cookbook. */
const writtenPort = 8098;

/** The directory that the section about Wasm changes to first. */
const examples = join(import.meta.dirname, '../../wasm/examples');

let cluster: TestingCluster | undefined;

beforeAll(async () => {
  cluster = await TestingCluster.start(basePort);
});

afterAll(async () => {
  await cluster?.stop();
});

/** The commands of a section's first block, one a line. */
function commandsOf(section: string): readonly string[] {
  const cookbook = readFileSync(join(import.meta.dirname, '../../docs/cookbook.md'), 'utf8');
  const block = cookbook.split(`## ${section}\n`)[1]?.split('```')[1] ?? '';
  return block
    .replaceAll(/\\\n\s*/g, '')
    .trim()
    .split('\n');
}

/** Sends the request of a curl line. */
async function curl(line: string): Promise<Response> {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  expect(words.shift()).toBe('curl');
  let method = 'GET';
  let url = '';
  let body: string | Uint8Array<ArrayBuffer> | undefined;
  const headers: [string, string][] = [];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '-X') method = words.shift() ?? '';
    else if (word === '-d') body = words.shift() ?? '';
    else if (word === '--data-binary') {
      const [, file = ''] = /^@([\w.-]+)$/.exec(words.shift() ?? '') ?? [];
      body = Uint8Array.from(readFileSync(join(examples, file)));
    } else if (word === '-i') continue;
    else if (word === '-H') {
      const [name = '', ...value] = (words.shift() ?? '').split(': ');
      headers.push([name, value.join(': ')]);
    } else url = word;
  }
  const here = url.replace(/:(\d+)\//, (_, port) => `:${Number(port) - writtenPort + basePort}/`);
  return fetch(here, { method, headers, ...(body === undefined ? {} : { body }) });
}

/** The cluster's answer on where a key of `shop` lives: the partition and its nodes, the primary first. */
async function placeOf(key: string): Promise<string> {
  const [host = '', port = ''] = (cluster?.nodes[1]?.pb ?? '').split(':');
  const socket = connect(Number(port), host);
  const message = { bucket: Buffer.from('shop'), key: Buffer.from(key) };
  socket.write(encodeRequest({ kind: 'preflist', message }));
  const reader = new FrameReader(100_000);
  for await (const chunk of socket) {
    reader.push(chunk as Buffer);
    const frame = reader.next();
    if (frame === undefined) continue;
    socket.destroy();
    const reply = decodeReply(frame);
    if (reply.kind !== 'preflist') throw new Error(`the answer is ${reply.kind}`);
    const nodes = reply.message.preflist ?? [];
    return nodes.map(({ partition, node }) => `${String(partition)} ${Buffer.from(node).toString()}`).join();
  }
  throw new Error('no answer');
}

test('links and MapReduce: two hops, and a streamed count', async () => {
  const commands = commandsOf('Links and MapReduce');
  const jobs = commands.slice(-2);
  for (const put of commands.slice(0, -2)) expect([put, (await curl(put)).status]).toEqual([put, 204]);
  const walk = await curl(jobs[0] ?? '');
  expect([walk.status, await walk.json()]).toEqual([200, ['Help!', 'Revolver']]);
  const counted = await curl(jobs[1] ?? '');
  expect(counted.headers.get('content-type')).toMatch(/^multipart\/mixed; boundary=/);
  expect(await counted.text()).toContain('Content-Type: application/json\r\n\r\n{"phase":1,"data":[2]}');
});

test('Wasm modules: all keys of a user on one set of nodes, a phase registered at run time, an endless phase stopped', async () => {
  const [goThere, ...commands] = commandsOf('Wasm modules');
  expect(goThere).toBe('cd engine/wasm/examples');
  const apple = `http://127.0.0.1:${writtenPort}/buckets/fruit/keys/apple`;
  const fruit = await curl(`curl -X PUT -H 'Content-Type: text/plain' -d 'round and red' ${apple}`);
  expect(fruit.status).toBe(204);
  const said: [number, string][] = [];
  for (const line of commands) {
    const answer = await curl(line);
    said.push([answer.status, await answer.text()]);
  }
  expect(said.slice(0, 5)).toEqual([
    [201, expect.stringContaining('by-user')],
    [204, ''],
    [204, ''],
    [200, 'Anna'],
    [201, expect.stringContaining('words')],
  ]);
  const [counted, registered, stopped, listed] = said.slice(5);
  expect(counted).toEqual([200, '[{"and":1,"red":1,"round":1}]']);
  expect(registered?.[0]).toBe(201);
  expect(stopped).toEqual([500, expect.stringContaining('WasmOutOfFuel')]);
  for (const name of ['by-user', 'words', 'endless']) expect(listed?.[1]).toContain(name);
  expect(said.length).toBe(9);
  const users = ['anna', 'boris', 'clara', 'dora', 'emil', 'frida'];
  const places: string[] = [];
  for (const user of users) {
    const own = new Set<string>();
    for (const part of ['profile', 'cart', 'orders:7']) own.add(await placeOf(`${user}:${part}`));
    expect(own.size).toBe(1);
    places.push(...own);
  }
  expect(new Set(places).size).toBe(users.length);
});
