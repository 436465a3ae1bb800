/**
 * Rolls a cluster of three nodes from one build to another and back, node by node, under load, on real processes:
 *
 *     node .ci/rolling-upgrade.js OLD [NEW]
 *
 * OLD and NEW are directories with a built `dist` (NEW: this one). The nodes begin as OLD, become NEW one after another,
 * go back to OLD, and become NEW again; then the upgrade is finalized, and a node of OLD must not be admitted any more.
 * Clients write and read all the while: a request that fails at one node goes to the next one, and only the node that is
 * being restarted may fail. At the end every acknowledged write must be there. Exits 1 if anything else was seen.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const { fetch } = globalThis;
const [oldDirectory, newDirectory = '.'] = process.argv.slice(2);
if (oldDirectory === undefined) {
  console.error('usage: node .ci/rolling-upgrade.js OLD [NEW]');
  process.exit(2);
}
const builds = { old: resolve(oldDirectory), new: resolve(newDirectory) };
const home = mkdtempSync(join(tmpdir(), 'lockstep-upgrade-'));
const base = 24_300;
const names = ['n1', 'n2', 'n3'];
const port = (index, of) => base + index * 10 + of;
const nodes = new Map();
/** The node that is being restarted, and until when a failure of its connections may still be seen. */
let restarting;
const seen = { requests: 0, retried: 0, refused: 0, elsewhere: 0 };
const acknowledged = new Map();
let stopping = false;

function configure() {
  const seeds = names.map((name, at) => ({
    name,
    address: `127.0.0.1:${port(at, 3)}`,
    datacenter: 'dc1',
    rack: `r${at + 1}`,
  }));
  names.forEach((name, at) => {
    mkdirSync(join(home, name));
    const keys = {
      name,
      rack: `r${at + 1}`,
      seeds,
      listen: `127.0.0.1:${port(at, 0)}`,
      pb_listen: 'off',
      peer_listen: `127.0.0.1:${port(at, 3)}`,
      stats_listen: `127.0.0.1:${port(at, 4)}`,
      log_level: 'warn',
    };
    writeFileSync(join(home, name, 'lockstep.yaml'), JSON.stringify({ lockstep: keys }));
  });
}

function start(at, build) {
  const main = join(builds[build], 'dist/engine/main.js');
  const child = spawn(process.execPath, [main, 'start', '--config', join(home, names[at], 'lockstep.yaml')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (text += bytes));
  const over = new Promise((done) => child.once('exit', done));
  nodes.set(at, { child, over, text: () => text.slice(-2000) });
}

async function stop(at) {
  const { child, over } = nodes.get(at);
  child.kill('SIGTERM');
  await over;
}

async function ready(at, budgetMs = 30_000) {
  const endMs = Date.now() + budgetMs;
  while (Date.now() < endMs) {
    try {
      const { status } = await fetch(`http://127.0.0.1:${port(at, 4)}/health/ready`);
      if (status === 200) return true;
    } catch {
      // It does not listen yet.
    }
    await sleep(100);
  }
  return false;
}

/** Sends the request to one node after another until one answers below 500; undefined if none does. */
async function ask(first, path, options) {
  seen.requests += 1;
  for (let more = 0; more < names.length; more++) {
    const at = (first + more) % names.length;
    const down = restarting;
    try {
      const answer = await fetch(`http://127.0.0.1:${port(at, 0)}${path}`, options);
      const body = await answer.text();
      if (answer.status < 500) return { status: answer.status, body };
      if (at !== down && at !== restarting) note(`n${at + 1} answers ${answer.status} ${body.slice(0, 200)}`);
    } catch (error) {
      if (at !== down && at !== restarting) note(`n${at + 1} is not reached: ${error.cause?.code ?? error}`);
    }
    seen.retried += 1;
  }
  seen.refused += 1;
  return undefined;
}

function note(what) {
  seen.elsewhere += 1;
  console.error(`beyond the node that restarts: ${what}`);
}

async function client(id) {
  for (let count = 0; !stopping; count++) {
    const key = `c${id}-${count}`;
    const put = await ask(count, `/buckets/b/keys/${key}`, {
      method: 'PUT',
      body: key,
      headers: { 'Content-Type': 'text/plain' },
    });
    if (put !== undefined && put.status < 300) acknowledged.set(key, key);
    const got = await ask(count + 1, `/buckets/b/keys/${key}`);
    if (put?.status < 300 && got !== undefined && got.body !== key)
      note(`${key} reads ${got.status} ${got.body}`);
    const operations = [1, 2].map((part) => ({ op: 'put', bucket: 't', key: `${key}-${part}`, value: key }));
    await ask(count + 2, '/transactions', {
      method: 'POST',
      body: JSON.stringify({ operations }),
      headers: { 'Content-Type': 'application/json' },
    });
    await sleep(5);
  }
}

async function roll(build) {
  for (const at of names.keys()) {
    restarting = at;
    await stop(at);
    start(at, build);
    if (!(await ready(at)))
      throw new Error(`${names[at]} of the ${build} build is not ready: ${nodes.get(at).text()}`);
    // Links to the other members come back a moment after the node is ready.
    await sleep(1_500);
    restarting = undefined;
    await sleep(500);
    console.log(
      `${names[at]} runs as the ${build} build; ${seen.requests} requests, ${seen.retried} sent again`,
    );
  }
}

async function main() {
  configure();
  for (const at of names.keys()) start(at, 'old');
  for (const at of names.keys()) if (!(await ready(at))) throw new Error(`no start: ${nodes.get(at).text()}`);
  const clients = [0, 1, 2, 3].map(client);
  for (const build of ['new', 'old', 'new']) await roll(build);
  stopping = true;
  await Promise.all(clients);
  let lost = 0;
  for (const [key, value] of acknowledged) {
    const got = await ask(0, `/buckets/b/keys/${key}`);
    if (got?.body !== value) lost += 1;
  }
  const finalized = await fetch(`http://127.0.0.1:${port(0, 0)}/upgrade/finalize`, { method: 'POST' });
  console.log(`finalize: ${finalized.status} ${(await finalized.text()).trim()}`);
  await stop(2);
  start(2, 'old');
  await ready(2, 5_000);
  const view = await (await fetch(`http://127.0.0.1:${port(0, 0)}/cluster`)).json();
  const state = view.members.find(({ node }) => node === 'n3')?.state;
  console.log(JSON.stringify({ ...seen, acknowledged: acknowledged.size, lost, oldAfterFinalize: state }));
  return (
    lost === 0 && seen.refused === 0 && seen.elsewhere === 0 && finalized.status === 200 && state === 'DOWN'
  );
}

let passed = false;
try {
  passed = await main();
} catch (error) {
  console.error(String(error));
} finally {
  stopping = true;
  for (const { child } of nodes.values()) child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
}
process.exit(passed ? 0 : 1);
