import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileModule } from './compiled-modules.fixture.ts';
import { makeTemporaryDirectory, removeDirectory } from './machine.fixture.ts';

/** The ports as JavaScript, and the data directory of the processes that use them. */
let compiled = '';

beforeAll(async () => {
  compiled = await makeTemporaryDirectory();
  await compileModule('engine/real/io.ts', compiled);
});

afterAll(() => removeDirectory(compiled));

describe('the ports on a machine', () => {
  it('an event at or above the level is one flat line of JSON on standard error; one below it is nothing', async () => {
    const { stdout, stderr } = await runProgram(`
      io.log.event('info', 'store.segment.rotated', { segment: 7, path: 'a"b', full: true });
      io.log.event('debug', 'store.segment.read', {});
      io.log.event('error', 'node.started');
      console.log(io.log.enabled('debug'), io.log.enabled('info'));`);
    expect(stdout).toBe('false true\n');
    const lines = stderr.trimEnd().split('\n').map(parseLine);
    expect(lines).toHaveLength(2);
    const [first, second] = lines;
    expect(first).toMatchObject({
      level: 'info',
      node: 'n1',
      event: 'store.segment.rotated',
      message: 'store: segment rotated (segment 7, path a"b, full true)',
      segment: 7,
      path: 'a"b',
      full: true,
    });
    expect(second).toMatchObject({ level: 'error', node: 'n1', event: 'node.started' });
    expect(String(first?.['time'])).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('a task that fails is logged and counted, one that ends is not', async () => {
    const { stdout, stderr } = await runProgram(`
      io.spawn('gossip', async () => { throw new RangeError('a bug'); });
      io.spawn('fine', async () => undefined);
      io.clock.after(5000, () => console.log(io.failedTasks(), io.residentBytes() > 1e6));`);
    expect(stdout).toBe('1 true\n');
    const line = parseLine(stderr.trimEnd());
    expect(line).toMatchObject({ level: 'error', event: 'task.failed', task: 'gossip' });
    expect(String(line['error'])).toContain('RangeError: a bug');
  });

  it('an assertion that fails is logged and counted, and ends the process though the code catches it', async () => {
    const fail = `
      io.watchAssertions();
      const { assert } = await import(${JSON.stringify(join(compiled, 'engine/base/assert.js'))});
      try { assert(false, 'a lock has one holder'); } catch { console.log(io.failedAssertions()); }
      io.clock.after(0, () => console.log('went on'));`;
    const { stdout, stderr } = await runProgram(fail);
    expect(stdout).toBe('1\n');
    const [line = ''] = stderr.split('\n');
    expect(parseLine(line)).toMatchObject({ event: 'assertion.failed', detail: 'a lock has one holder' });
    expect(stderr).toContain('Node.js v');
    const chosen = await runProgram(fail, 'onFailedAssertion: () => process.exit(1)');
    expect(chosen.stdout).toBe('');
  });

  it('an error of JavaScript itself is logged while the program is watched, and not after that', async () => {
    const { stderr } = await runProgram(`
      const unwatch = io.watchAssertions();
      const { asLockstepError } = await import(${JSON.stringify(join(compiled, 'engine/base/errors.js'))});
      asLockstepError(new TypeError('x is not a function'));
      unwatch();
      asLockstepError(new TypeError('y is not a function'));`);
    expect(stderr.trimEnd().split('\n').map(parseLine)).toMatchObject([
      { level: 'error', event: 'program.failed', detail: 'x is not a function' },
    ]);
  });

  it('residentBytes returns its last value while it cannot be read', async () => {
    const { stdout } = await runProgram(`
      const failWith = (code) => {
        process.memoryUsage.rss = () => { throw Object.assign(new Error(code), { code }); };
      };
      failWith('EMFILE');
      console.log(io.residentBytes() > 1e6);
      failWith('EACCES');
      try { io.residentBytes(); } catch (error) { console.log(error.code); }`);
    expect(stdout).toBe('true\nEACCES\n');
  });

  it('the last events before a crash are written', async () => {
    // So few that the system takes them all before any reader has read: with more, the result depends on the reader's
    // speed.
    const { stderr } = await runProgram(`
      for (let n = 0; n < 50; n++) io.log.event('warn', 'late.words', { n });
      process.kill(process.pid, 'SIGKILL');`);
    expect(parseLine(stderr.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      event: 'late.words',
      n: 49,
    });
  });

  it('the data directory is created', async () => {
    await runProgram('await (await io.disk.open("file", "create")).close();');
    expect((await stat(join(compiled, 'data/file'))).isFile()).toBe(true);
    expect(await readFile(join(compiled, 'data/file'))).toHaveLength(0);
  });
});

async function runProgram(body: string, more = ''): Promise<{ stdout: string; stderr: string }> {
  const options = { dataDirectory: join(compiled, 'data'), logLevel: 'info', node: 'n1' };
  const program = `
    import { createRealIo } from ${JSON.stringify(join(compiled, 'engine/real/io.js'))};
    const io = createRealIo({ ...${JSON.stringify(options)}, ${more} });
    ${body}`;
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  return run.catch((error: unknown) => {
    // Killed on purpose: the error carries its output.
    if (error instanceof Error && 'stdout' in error && 'stderr' in error) {
      return { stdout: String(error.stdout), stderr: String(error.stderr) };
    }
    throw error;
  });
}

function parseLine(line: string): Record<string, unknown> {
  const parsed: unknown = JSON.parse(line);
  expect(parsed).toBeTypeOf('object');
  return { ...(parsed as object) };
}
