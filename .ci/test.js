/**
 * `npm test`: runs the static checks, then the tests; lint, which takes longest, runs beside both, and its findings are
 * printed last. All static checks run, so that one run shows all their findings. If one of those before the tests fails,
 * the tests are not started. The last line is `N passed, N failed`: vitest's numbers, plus one failure for every static
 * check, test file or process that failed as a whole.
 */
import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clearTimeout, setTimeout } from 'node:timers';

/** The checks before the tests. `prepare` builds, unless `npm ci` has just done so. */
const checksBeforeTests = ['types', 'arrows', 'format:check', 'prepare'];
const checkCount = checksBeforeTests.length + 1;

/** Tests that take longer have hung. They take seven minutes on two idle cores, and several times that on busy ones. */
const testMinutesMax = 60;

/**
 * Runs a command. Resolves with whether it succeeded, its output and its seconds. The command has a process group of
 * its own, so that a signal which a test sends to its own group does not reach this process. The group is killed when
 * this process ends, and after `minutesMax`.
 */
function run(command, args, stdio, minutesMax = 20) {
  const started = Date.now();
  const child = spawn(command, args, { stdio: ['ignore', stdio, stdio], detached: true });
  const endGroup = () => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group has ended already.
    }
  };
  const limit = setTimeout(() => {
    console.log(`${command} ${args.join(' ')} did not end within ${minutesMax} minutes, and was ended`);
    endGroup();
  }, minutesMax * 60_000);
  process.once('exit', endGroup);
  const chunks = [];
  child.stdout?.on('data', (chunk) => chunks.push(chunk));
  child.stderr?.on('data', (chunk) => chunks.push(chunk));
  return new Promise((resolve) => {
    const settle = (passed) => {
      clearTimeout(limit);
      process.off('exit', endGroup);
      const seconds = ((Date.now() - started) / 1000).toFixed(1);
      resolve({ passed, seconds, output: Buffer.concat(chunks).toString().trim() });
    };
    child.on('error', (error) => {
      chunks.push(Buffer.from(String(error)));
      settle(false);
    });
    child.on('close', (code) => settle(code === 0));
  });
}

/** Runs the checks before the tests, one after the other. Resolves with the number of those that failed. */
async function runChecks() {
  let failed = 0;
  for (const name of checksBeforeTests) failed += printCheck(name, await runCheck(name));
  return failed;
}

function runCheck(name) {
  return run('npm', ['run', '--silent', name], 'pipe');
}

/** Returns the number of failures: 0 or 1. */
function printCheck(name, { passed, seconds, output }) {
  console.log(`${passed ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
  if (!passed) console.log(`${output.replace(/^/gm, '    ')}\n`);
  return passed ? 0 : 1;
}

/** vitest's counts; a file that could not even be collected counts as one failure. */
function countTests(reportFile) {
  const report = JSON.parse(readFileSync(reportFile, 'utf8'));
  const files = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + files.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

async function runTests() {
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-tests-'));
  const reportFile = join(directory, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  try {
    const vitest = ['--no-install', 'vitest', 'run', ...reporters];
    const { passed } = await run('npx', vitest, 'inherit', testMinutesMax);
    const counts = countTests(reportFile);
    // An error outside any test, or not one test at all, is a failure too.
    if ((!passed || counts.passed === 0) && counts.failed === 0) counts.failed = 1;
    return counts;
  } catch (error) {
    console.log(`vitest left no report: ${String(error)}`);
    return { passed: 0, failed: 1, skipped: 0 };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
const started = Date.now();
const lint = runCheck('lint');
let failedChecks = await runChecks();
let counts = { passed: 0, failed: 0, skipped: 0 };
if (failedChecks > 0) console.log('the tests were not started: the checks above come first');
else counts = await runTests();
failedChecks += printCheck('lint', await lint);
const failed = counts.failed + failedChecks;
const skipped = counts.skipped > 0 ? `, ${counts.skipped} tests skipped` : '';
console.log(
  `${checkCount - failedChecks} of ${checkCount} checks passed${skipped}; ${Math.round((Date.now() - started) / 1000)} s`,
);
console.log(`${counts.passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
