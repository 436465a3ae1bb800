/**
 * `npm run retries [-- BASE_PORT [COUNT]]`: tests retries under an idempotency key (id) on three real processes.
 *
 * Clients send COUNT transactions (1000 by default), each with an id of its own. Half of the clients disconnect before
 * the answer, and every client retries through other nodes. Meanwhile the script kills nodes (SIGKILL) and starts them
 * again, stops (SIGSTOP) and continues them, and cuts links between two nodes with proxies. A proxy delivers the bytes
 * that were sent meanwhile once the link is healed. Other clients write the same keys without an id. Finally the script
 * heals everything and asks for every id once more through every node.
 *
 * A violation (`lies`) is one of three: two definite answers under one id that differ; a value that was visible at any
 * time although its id was answered aborted; a committed value that is missing although no client wrote the key later.
 * Exit code 0 if there is no violation and every id has a definite answer.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clearTimeout, setTimeout } from 'node:timers';

const basePort = Number(process.argv[2] ?? 22_000);
const count = Number(process.argv[3] ?? 1000);
const names = ['n1', 'n2', 'n3'];
const workers = 16;
const keyCount = 96;
const deadlineMs = Date.now() + 20 * 60_000;
const directory = mkdtempSync(join(tmpdir(), 'lockstep-retries-'));
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const below = (limit) => Math.floor(Math.random() * limit);
const pick = (list) => list[below(list.length)];
const httpPort = (node) => basePort + 20 * names.indexOf(node);
const peerPort = (node) => httpPort(node) + 3;
const proxyPort = (node) => httpPort(node) + 4;

/** Links that are cut now: `n1 n2`, both ways. */
const cuts = new Set();
const linkOf = (one, other) => [one, other].sort().join(' ');
/** Deliveries that wait until a link is healed. */
const healed = new Map();

/** Passes the bytes of one socket on to the other, and holds them back while the link is cut. */
function pipe(from, to, link) {
  from.on('data', (bytes) => {
    const pass = () => {
      if (cuts.has(link())) {
        from.pause();
        const waiting = healed.get(link()) ?? [];
        healed.set(link(), [...waiting, pass]);
        return;
      }
      if (!to.destroyed) to.write(bytes);
      from.resume();
    };
    pass();
  });
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroy());
}

/**
 * A proxy in front of a node's peer port. It learns the link's other end from the name in the connecting node's
 * greeting.
 */
function startProxy(node) {
  const server = createServer((inbound) => {
    const outbound = connect(peerPort(node), '127.0.0.1');
    let source;
    inbound.on('data', (bytes) => {
      source ??= names.find((name) => name !== node && bytes.includes(name));
    });
    const link = () => linkOf(source ?? node, node);
    pipe(inbound, outbound, link);
    pipe(outbound, inbound, link);
  });
  server.listen(proxyPort(node), '127.0.0.1');
  return server;
}

function cut(link) {
  cuts.add(link);
}

function heal(link) {
  cuts.delete(link);
  const waiting = healed.get(link) ?? [];
  healed.delete(link);
  for (const pass of waiting) pass();
}

const processes = new Map();

function configure(node) {
  const home = join(directory, node);
  mkdirSync(home);
  const seeds = names.filter((name) => name !== node);
  const lines = [
    `name: ${node}`,
    'datacenter: dc1',
    `rack: r${names.indexOf(node) + 1}`,
    'data_dir: data',
    `listen: 127.0.0.1:${httpPort(node)}`,
    `pb_listen: 127.0.0.1:${httpPort(node) + 1}`,
    `redis_listen: 127.0.0.1:${httpPort(node) + 2}`,
    `peer_listen: 127.0.0.1:${peerPort(node)}`,
    `peer_advertise: 127.0.0.1:${proxyPort(node)}`,
    `stats_listen: 127.0.0.1:${httpPort(node) + 5}`,
    'log_level: warn',
    'request_timeout_ms: 1500',
    'transaction_inquiry_ms: 500',
    'seeds:',
    ...seeds.flatMap((seed) => [
      `  - name: ${seed}`,
      `    address: 127.0.0.1:${proxyPort(seed)}`,
      '    datacenter: dc1',
      `    rack: r${names.indexOf(seed) + 1}`,
    ]),
  ];
  writeFileSync(
    join(home, 'lockstep.yaml'),
    ['lockstep:', ...lines.map((line) => `  ${line}`), ''].join('\n'),
  );
}

function startNode(node) {
  const main = new URL('../dist/engine/main.js', import.meta.url).pathname;
  const child = spawn(process.execPath, [main, 'start', '--config', 'lockstep.yaml'], {
    cwd: join(directory, node),
    stdio: ['ignore', 'ignore', process.env.VERBOSE === undefined ? 'ignore' : 'inherit'],
  });
  processes.set(node, child);
}

const agents = new Map(names.map((node) => [node, new Agent({ keepAlive: true, maxSockets: 64 })]));

/** The answer; undefined if none came in time. */
function ask(node, method, path, body, timeoutMs = 4000) {
  return new Promise((resolve) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const sent = request(
      {
        host: '127.0.0.1',
        port: httpPort(node),
        method,
        path,
        agent: agents.get(node),
        headers: text === undefined ? {} : { 'Content-Type': 'application/json' },
      },
      (response) => {
        let heard = '';
        response.setEncoding('utf8');
        response.on('data', (part) => (heard += part));
        response.on('end', () => resolve({ status: response.statusCode, body: heard }));
        response.on('error', () => resolve(undefined));
      },
    );
    const timer = setTimeout(() => sent.destroy(), timeoutMs);
    sent.on('close', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    sent.on('error', () => resolve(undefined));
    sent.end(text);
  });
}

async function serves(node) {
  const answer = await ask(node, 'GET', '/ping', undefined, 1000);
  return answer?.status === 200;
}

async function waitForAll() {
  for (const node of names) {
    while (!(await serves(node))) {
      if (Date.now() > deadlineMs) throw new Error(`${node} does not serve`);
      await pause(100);
    }
  }
}

/** Per id: its operations, and every definite answer. */
const ids = new Map();
const lies = [];
const figures = {
  unknownFirst: 0,
  retries: 0,
  inDoubt: 0,
  kills: 0,
  stops: 0,
  cuts: 0,
  others: 0,
  committed: 0,
  aborted: 0,
};

function hear(id, node, answer) {
  if (answer === undefined) return undefined;
  let outcome;
  try {
    outcome = JSON.parse(answer.body).outcome;
  } catch {
    return undefined;
  }
  if (outcome === 'in_doubt') figures.inDoubt += 1;
  if (outcome !== 'committed' && outcome !== 'aborted') return undefined;
  const { answers } = ids.get(id);
  answers.push(`${outcome} by ${node}: ${answer.body.slice(0, 200)}`);
  if (answers.some((one) => !one.startsWith(outcome))) lies.push(`${id}: ${answers.join(' | ')}`);
  return outcome;
}

const put = (key, value) => ({ op: 'put', bucket: 'b', key, value });
/** Every value that a read has returned, with the key and node. */
const seen = new Map();

async function look(node) {
  const key = `k${below(keyCount)}`;
  const answer = await ask(node, 'GET', `/buckets/b/keys/${key}?r=primary`);
  if (answer?.status === 200) seen.set(answer.body, `${key} through ${node}`);
}

let next = 0;

async function work() {
  while (next < count) {
    const id = `id${next++}`;
    const keys = new Set(Array.from({ length: 1 + below(2) }, () => `k${below(keyCount)}`));
    const body = { id, operations: [...keys].map((key) => put(key, id)) };
    ids.set(id, { body, answers: [] });
    const first = pick(names);
    const hurried = Math.random() < 0.5;
    const answer = await ask(
      first,
      'POST',
      '/transactions',
      body,
      hurried ? 1 + below(12) : 400 + below(2500),
    );
    if (hear(id, first, answer) === undefined) figures.unknownFirst += 1;
    // Every client retries its id through other nodes, at once or a little later.
    for (let left = 1 + below(3); left > 0; left--) {
      const node = pick(names.filter((name) => name !== first));
      figures.retries += 1;
      hear(id, node, await ask(node, 'POST', '/transactions', body));
      if (Math.random() < 0.4) await pause(below(150));
    }
    await look(pick(names));
  }
}

let over = false;

async function disturb() {
  for (let number = 0; !over; number++) {
    const keys = [`k${below(keyCount)}`, `k${below(keyCount)}`];
    const operations = [...new Set(keys)].map((key) => put(key, `other${number}`));
    if ((await ask(pick(names), 'POST', '/transactions', { operations }))?.status === 200)
      figures.others += 1;
    await look(pick(names));
    await pause(below(30));
  }
}

async function strike() {
  while (!over) {
    await pause(100 + below(600));
    const node = pick(names);
    const child = processes.get(node);
    switch (below(3)) {
      case 0:
        figures.kills += 1;
        child.kill('SIGKILL');
        await pause(50 + below(1200));
        startNode(node);
        for (let left = 100; left > 0 && !(await serves(node)); left--) await pause(100);
        break;
      case 1:
        figures.stops += 1;
        child.kill('SIGSTOP');
        await pause(200 + below(1500));
        child.kill('SIGCONT');
        break;
      default: {
        const link = linkOf(node, pick(names.filter((name) => name !== node)));
        figures.cuts += 1;
        cut(link);
        await pause(200 + below(1800));
        heal(link);
      }
    }
  }
}

/** Asks each node until it gives a definite answer for the id. */
async function finish(id) {
  const { body } = ids.get(id);
  for (const node of names) {
    let outcome;
    while (outcome === undefined && Date.now() < deadlineMs) {
      outcome = hear(id, node, await ask(node, 'POST', '/transactions', body));
      if (outcome === undefined) await pause(200);
    }
    if (outcome === undefined) lies.push(`${id} stays in doubt at ${node}`);
  }
}

function judge() {
  for (const [id, { answers }] of ids) {
    const aborted = answers[0]?.startsWith('aborted') ?? false;
    figures[aborted ? 'aborted' : 'committed'] += 1;
    if (aborted && seen.has(id)) lies.push(`${id} was seen at ${seen.get(id)}: ${answers.join(' | ')}`);
  }
}

async function run() {
  for (const node of names) configure(node);
  const proxies = names.map(startProxy);
  for (const node of names) startNode(node);
  await waitForAll();
  await pause(1000);
  const side = [disturb(), disturb(), strike()];
  await Promise.all(Array.from({ length: workers }, work));
  over = true;
  await Promise.all(side);
  for (const link of [...cuts]) heal(link);
  await waitForAll();
  await pause(3000);
  const left = [...ids.keys()];
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) await finish(id);
    }),
  );
  for (let index = 0; index < keyCount; index++) {
    for (const node of names) {
      const answer = await ask(node, 'GET', `/buckets/b/keys/k${index}?r=primary`);
      if (answer?.status === 200) seen.set(answer.body, `k${index} through ${node}, at the end`);
    }
  }
  judge();
  for (const proxy of proxies) proxy.close();
}

try {
  await run();
  for (const lie of lies.slice(0, 20)) process.stdout.write(`LIE ${lie}\n`);
  process.stdout.write(`${JSON.stringify({ ids: ids.size, lies: lies.length, ...figures })}\n`);
  process.exitCode = lies.length === 0 && ids.size === count ? 0 : 1;
} finally {
  for (const child of processes.values()) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
}
setTimeout(() => process.exit(), 500);
