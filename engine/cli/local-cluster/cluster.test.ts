/**
 * The built command as its users run it: a cluster of real processes over real sockets and files. `npm test` builds
 * first; to run this file alone, run `npm run build` first.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { present } from '../../base/assert.ts';

const root = join(import.meta.dirname, '../../..');
const main = join(root, 'dist/engine/main.js');
const basePort = 14_098;

interface ShapeNode {
  readonly name: string;
  readonly http: string;
  readonly stats: string;
  readonly config: string;
  readonly pid: number;
}

let directory = '';
const started: ChildProcess[] = [];

beforeAll(() => {
  expect(existsSync(main), 'run `npm run build` first').toBe(true);
  directory = mkdtempSync(join(tmpdir(), 'lockstep-cluster-'));
});

afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

function lockstep(...words: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...words], {
    encoding: 'utf8',
    cwd: directory,
  });
  return { status, stdout, stderr };
}

/** Starts the command and collects the lines that it prints. */
function launch(...words: string[]) {
  const child = spawn(process.execPath, [main, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: directory,
  });
  started.push(child);
  const lines: string[] = [];
  const waiting: (() => void)[] = [];
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      lines.push(line);
      for (const wake of waiting.splice(0)) wake();
    });
  }
  void gone.then(
    () => waiting.splice(0).forEach((wake) => wake()),
    () => undefined,
  );
  const line = async (form: RegExp): Promise<string> => {
    for (;;) {
      const found = lines.find((candidate) => form.test(candidate));
      if (found !== undefined) return found;
      if (child.exitCode !== null)
        throw new Error(`it ended without saying ${String(form)}:\n${lines.join('\n')}`);
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  return { child, line, gone };
}

const put = (node: ShapeNode, key: string, body: string) =>
  fetch(`http://${node.http}/buckets/b/keys/${key}`, {
    method: 'PUT',
    headers: { 'Content-Type': 'text/plain' },
    body,
  });

async function get(node: ShapeNode, key: string): Promise<string> {
  const response = await fetch(`http://${node.http}/buckets/b/keys/${key}`);
  return `${response.status} ${await response.text()}`;
}

/** Resolves once the node of this statistics listener says that it can serve its share. */
async function readyAt(stats: string): Promise<void> {
  while ((await fetch(`http://${stats}/health/ready`)).status !== 200) await sleep(50);
}

describe('lockstep cluster', () => {
  it('serves from every node, survives the death of any one node, accepts its return, and stops in order', async () => {
    const cluster = launch('cluster', '--base-port', String(basePort), '--json');
    const shape = JSON.parse(await cluster.line(/^\{"data"/)) as { nodes: ShapeNode[] };
    expect(shape.nodes.map(({ name }) => name)).toEqual(['n1', 'n2', 'n3']);
    const [n1, n2, n3] = shape.nodes.map((node) => present(node, 'a node')) as [
      ShapeNode,
      ShapeNode,
      ShapeNode,
    ];

    expect((await put(n1, 'before', 'one')).status).toBe(204);
    expect(await get(n2, 'before')).toBe('200 one');
    expect(await (await fetch(`http://${n3.stats}/metrics`)).text()).toContain('svc_build_info{');

    // A node that is not ready may still have to hear from n2 what it held.
    for (const { stats } of [n1, n2, n3]) await readyAt(stats);
    process.kill(n2.pid, 'SIGKILL');
    const notice = await cluster.line(/n2 is gone \(SIGKILL\)/);
    expect((await put(n3, 'during', 'two')).status).toBe(204);
    expect(await get(n1, 'during')).toBe('200 two');

    const again = /start --config (\S+)$/.exec(notice)?.[1];
    expect(again).toBe(n2.config);
    const restarted = launch('start', '--config', n2.config);
    await restarted.line(/^n2 serves HTTP on/);
    expect(await get(n2, 'before')).toBe('200 one');
    expect(await get(n2, 'during')).toBe('200 two');

    restarted.child.kill('SIGTERM');
    expect(await restarted.gone).toBe(0);
    cluster.child.kill('SIGINT');
    expect(await cluster.gone).toBe(0);
    for (const node of [n1, n3]) expect(() => process.kill(node.pid, 0)).toThrow(/ESRCH/);
  });

  it('stops, at Ctrl-C, also a node that the user started again with the printed command', async () => {
    const words = ['--base-port', String(basePort + 300), '--nodes', '2', '--data', join(directory, 'again')];
    const cluster = launch('cluster', ...words, '--json');
    const { nodes } = JSON.parse(await cluster.line(/^\{"data"/)) as { nodes: ShapeNode[] };
    const [n1, n2] = nodes.map((node) => present(node, 'a node')) as [ShapeNode, ShapeNode];
    process.kill(n1.pid, 'SIGKILL');
    const first = launch('start', '--config', commandOf(await cluster.line(/n1 is gone \(SIGKILL\)/)));
    await cluster.line(new RegExp(`^n1 serves again \\(process ${first.child.pid}\\)`));

    // The cluster command keeps running while this process runs. The process may die like any other node.
    process.kill(n2.pid, 'SIGKILL');
    await cluster.line(/n2 is gone \(SIGKILL\)/);
    const second = launch('start', '--config', n2.config);
    await cluster.line(/^n2 serves again/);
    first.child.kill('SIGKILL');
    await cluster.line(new RegExp(`n1 is gone \\(process ${first.child.pid} has ended\\)`));
    const third = launch('start', '--config', n1.config);
    await cluster.line(new RegExp(`^n1 serves again \\(process ${third.child.pid}\\)`));

    cluster.child.kill('SIGINT');
    await cluster.line(/^stopping n1, n2$/);
    expect(await Promise.all([cluster.gone, second.gone, third.gone])).toEqual([0, 0, 0]);
    // Without a cluster command the node is tied to none.
    const alone = launch('start', '--config', n1.config);
    await alone.line(/^n1 serves HTTP on/);
    alone.child.kill('SIGTERM');
    expect(await alone.gone).toBe(0);
  });

  it('a node that the user started again stops in order when the command is killed', async () => {
    const data = join(directory, 'tied');
    const words = ['--base-port', String(basePort + 400), '--nodes', '2', '--data', data];
    const cluster = launch('cluster', ...words, '--json');
    const { nodes } = JSON.parse(await cluster.line(/^\{"data"/)) as { nodes: ShapeNode[] };
    const n1 = present(nodes[0], 'a node');
    process.kill(n1.pid, 'SIGKILL');
    await cluster.line(/n1 is gone/);
    const again = launch('start', '--config', n1.config);
    await cluster.line(/^n1 serves again/);
    cluster.child.kill('SIGKILL');
    expect(await again.gone).toBe(0);
  });

  it('nodes stop in order when the command is killed', async () => {
    const data = join(directory, 'orphans');
    const cluster = launch(
      'cluster',
      '--base-port',
      String(basePort + 100),
      '--nodes',
      '1',
      '--data',
      data,
      '--json',
    );
    const { nodes } = JSON.parse(await cluster.line(/^\{"data"/)) as { nodes: ShapeNode[] };
    const node = present(nodes[0], 'a node');
    cluster.child.kill('SIGKILL');
    await cluster.gone;
    await expect.poll(() => isAlive(node.pid), { timeout: 300_000 }).toBe(false);
  });

  it('a port that is taken is refused, and named', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(basePort + 200 + 3, '127.0.0.1', resolve));
    const { status, stderr } = lockstep('cluster', '--base-port', String(basePort + 200), '--data', 'taken');
    holder.close();
    expect(stderr).toBe(
      `lockstep: these ports are taken: ${basePort + 203} (peers of n1); stop what holds them or give another --base-port\n`,
    );
    expect(status).toBe(1);
    expect(existsSync(join(directory, 'taken'))).toBe(false);
  });
});

describe('lockstep start', () => {
  it('a configuration with faults is refused with a line for each', () => {
    const file = join(directory, 'bad.yaml');
    writeFileSync(file, 'pool:\n  name: n1\n  lisen: off\n  num_tokens: 0\n');
    const { status, stdout, stderr } = lockstep('start', '--config', file);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr.split('\n')).toEqual([
      `lockstep: ${file}:3: lisen: unknown key; the nearest known key is listen`,
      `lockstep: ${file}:4: num_tokens: 0 given; allowed: a whole number of tokens from 1 to 256`,
      '',
    ]);
  });
});

describe('lockstep', () => {
  it('prints its version and its help, and suggests the nearest command for an unknown one', () => {
    expect(lockstep('--version')).toEqual({ status: 0, stdout: '0.1.0\n', stderr: '' });
    expect(lockstep('--help').stdout).toContain('Exit codes:');
    expect(lockstep('check-confg')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('check-config') as string,
    });
    expect(lockstep('cluster', '--nodes', '0').status).toBe(2);
  });

  it('check-config reports valid and invalid files, as text and as JSON', () => {
    const good = join(directory, 'good.yaml');
    writeFileSync(good, 'pool:\n  name: n1\n');
    expect(lockstep('check-config', good)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('valid') as string,
    });
    expect(JSON.parse(lockstep('check-config', good, '--json').stdout)).toMatchObject({
      valid: true,
      config: { name: 'n1', listen: '127.0.0.1:8098' },
    });
    const { status, stdout } = lockstep('check-config', join(directory, 'none.yaml'), '--json');
    expect({ status, report: JSON.parse(stdout) as unknown }).toMatchObject({
      status: 2,
      report: { valid: false, faults: [{ problem: 'there is no such file' }] },
    });
    expect(lockstep('check-config', '--keys').stdout).toContain('LOCKSTEP_PB_LISTEN');
  });
});

/** The configuration file that a death notice names. */
function commandOf(notice: string): string {
  return present(/start --config (\S+)$/.exec(notice)?.[1], 'the command that starts it again');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
