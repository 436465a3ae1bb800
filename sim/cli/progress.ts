/**
 * Shows progress while seeds run: a bar on a terminal, otherwise a line on stderr every few seconds. stdout is for
 * results only.
 */
import cliProgress from 'cli-progress';

import { many } from '../../reports/numbers.ts';
import type { ShrinkProgress } from '../plan/shrink.ts';
import type { RunResult } from '../runner/result.ts';

const lineEveryMs = 5000;

/** Most failures that are printed when they happen; the summary counts all. */
const toldMax = 20;

/** Receives events of a run and displays them. */
export interface Progress {
  /** One more run is over. */
  ran(failedSoFar: number, scenario: string): void;
  /** Prints a failure when it happens, so that it is visible during a run of hours; only the first few. */
  failed(line: string): void;
  stop(): void;
}

/** Of a number of runs. */
export function startProgress(total: number): Progress {
  return progressOn(
    process.stderr.isTTY ? startBar(total) : startLines((runs) => `${runs} of ${total} runs`),
  );
}

/** Of runs that begin within `forMs` milliseconds. */
export function startTimedProgress(forMs: number): Progress {
  const startMs = performance.now();
  const state = (runs: number): string => {
    const tookMs = performance.now() - startMs;
    const left = Math.max(0, Math.round((forMs - tookMs) / 1000));
    return `${left} s left, ${many(runs, 'run')}, ${((runs * 1000) / tookMs).toFixed(1)} a second`;
  };
  return progressOn(process.stderr.isTTY ? startStatus(state) : startLines(state));
}

function progressOn(display: Display): Progress {
  let told = 0;
  return {
    ran: (failures, scenario) => display.show(failures, scenario),
    failed(line) {
      told += 1;
      if (told <= toldMax) display.say(line);
    },
    stop: () => display.stop(),
  };
}

/** Where progress is shown. */
interface Display {
  show(failedSoFar: number, scenario: string): void;
  say(line: string): void;
  stop(): void;
}

function startBar(total: number): Display {
  // A multibar with one bar: only a multibar can write lines above the bar.
  const bars = new cliProgress.MultiBar({
    format: '{bar} {value}/{total} runs, {failed} failed, {scenario} | {duration_formatted}',
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
  });
  const bar = bars.create(total, 0, { failed: 0, scenario: '' });
  return {
    show: (failed, scenario) => bar.increment(1, { failed, scenario }),
    say: (line) => bars.log(`${line}\n`),
    stop: () => bars.stop(),
  };
}

/** One line of the terminal that is written again and again. */
function startStatus(state: (runs: number) => string): Display {
  let runs = 0;
  const erase = '\r\u001b[K';
  return {
    show(failed, scenario) {
      runs += 1;
      process.stderr.write(`${erase}${state(runs)}, ${failed} failed (${scenario})`);
    },
    say: (line) => process.stderr.write(`${erase}${line}\n`),
    stop: () => process.stderr.write(erase),
  };
}

function startLines(state: (runs: number) => string): Display {
  let runs = 0;
  let lastMs = performance.now();
  return {
    show(failed, scenario) {
      runs += 1;
      const nowMs = performance.now();
      if (nowMs - lastMs < lineEveryMs) return;
      lastMs = nowMs;
      process.stderr.write(`${state(runs)}, ${failed} failed (${scenario})\n`);
    },
    say: (line) => process.stderr.write(`${line}\n`),
    stop() {
      // The summary on stdout is the last word.
    },
  };
}

/** Shows how far the shrinking of one failure has come. */
export interface ShrinkingDisplay {
  readonly now: (progress: ShrinkProgress) => void;
  stop(): void;
}

/** Shows progress of shrinking on stderr: one line that is written again and again, or a line every few seconds. */
export function showShrinking({ scenario, seed }: RunResult, msMax: number): ShrinkingDisplay {
  const startMs = performance.now();
  let lastMs = startMs;
  let shown = false;
  const { isTTY: onTerminal } = process.stderr;
  return {
    now({ runs, items }) {
      const nowMs = performance.now();
      if (nowMs - lastMs < (onTerminal ? 100 : lineEveryMs)) return;
      lastMs = nowMs;
      shown = true;
      const left = Math.max(0, Math.round((msMax - (nowMs - startMs)) / 1000));
      const line = `shrinking ${scenario}, seed ${seed}: ${many(runs, 'run')}, ${many(items, 'item')} left, at most ${left} s`;
      if (onTerminal) process.stderr.write(`\r\u001b[K${line} (Ctrl-C: enough)`);
      else process.stderr.write(`${line}\n`);
    },
    stop() {
      if (shown && onTerminal) process.stderr.write('\r\u001b[K');
    },
  };
}
