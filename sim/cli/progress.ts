/**
 * What a person sees while seeds run: a bar on a terminal, otherwise a line on stderr every few seconds. stdout is for
 * results only.
 */
import cliProgress from 'cli-progress';

const lineEveryMs = 5000;

/** So many failures are told when they happen; the summary counts all. */
const toldMax = 20;

export interface Progress {
  /** One more run is over. */
  ran(failedSoFar: number, scenario: string): void;
  /** A failure, told when it happens: who soaks for hours need not wait for the summary. Only the first few are. */
  failed(line: string): void;
  stop(): void;
}

/** `total` is undefined when the number of runs is not known beforehand. */
export function startProgress(total: number | undefined): Progress {
  const display = process.stderr.isTTY && total !== undefined ? startBar(total) : startLines(total);
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
  // A multibar of one: only it can write lines above what it redraws.
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

function startLines(total: number | undefined): Display {
  let runs = 0;
  let lastMs = performance.now();
  return {
    show(failed, scenario) {
      runs += 1;
      const nowMs = performance.now();
      if (nowMs - lastMs < lineEveryMs) return;
      lastMs = nowMs;
      const of = total === undefined ? '' : ` of ${total}`;
      process.stderr.write(`${runs}${of} runs, ${failed} failed (${scenario})\n`);
    },
    say: (line) => process.stderr.write(`${line}\n`),
    stop() {
      // The summary on stdout is the last word.
    },
  };
}
