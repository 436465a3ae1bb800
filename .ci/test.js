/**
 * `npm test`: runs the static checks, the longest in parallel with the others, then the tests. All static checks run,
 * so that one run shows all their findings. If one fails, the tests are not started. The last line is `N passed, N
 * failed`: vitest's numbers, plus one failure for every static check, test file or process that failed as a whole.
 */
import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clearTimeout, setTimeout } from 'node:timers';

/** Two lanes of checks that run in parallel. `prepare` builds, unless `npm ci` has just done so. */
const lanes = [['types', 'arrows', 'format:check', 'prepare'], ['lint']];
const checkCount = lanes.flat().length;

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
  const onSignal = () => {
    endGroup();
    process.exit(130);
  };
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const chunks = [];
  child.stdout?.on('data', (chunk) => chunks.push(chunk));
  child.stderr?.on('data', (chunk) => chunks.push(chunk));
  return new Promise((resolve) => {
    const settle = (passed) => {
      clearTimeout(limit);
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
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

async function runChecks() {
  const failures = await Promise.all(lanes.map(runLane));
  return failures.reduce((sum, failed) => sum + failed, 0);
}

async function runLane(names) {
  let failed = 0;
  for (const name of names) {
    const { passed, seconds, output } = await run('npm', ['run', '--silent', name], 'pipe');
    console.log(`${passed ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
    if (passed) continue;
    failed += 1;
    console.log(`${output.replace(/^/gm, '    ')}\n`);
  }
  return failed;
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

const started = Date.now();
const failedChecks = await runChecks();
let counts = { passed: 0, failed: 0, skipped: 0 };
if (failedChecks > 0) console.log('the tests were not started: the checks above come first');
else counts = await runTests();
const failed = counts.failed + failedChecks;
const skipped = counts.skipped > 0 ? `, ${counts.skipped} tests skipped` : '';
console.log(
  `${checkCount - failedChecks} of ${checkCount} checks passed${skipped}; ${Math.round((Date.now() - started) / 1000)} s`,
);
console.log(`${counts.passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
