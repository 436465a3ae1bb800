/**
 * What a person sees while seeds run: a bar on a terminal, otherwise a line on stderr every few seconds. stdout is for
 * results only.
 */
import cliProgress from 'cli-progress';

const lineEveryMs = 5000;

export interface Progress {
  /** One more run is over. */
  ran(failedSoFar: number, scenario: string): void;
  stop(): void;
}

/** `total` is undefined when the number of runs is not known beforehand. */
export function startProgress(total: number | undefined): Progress {
  return process.stderr.isTTY && total !== undefined ? startBar(total) : startLines(total);
}

function startBar(total: number): Progress {
  const bar = new cliProgress.SingleBar({
    format: '{bar} {value}/{total} runs, {failed} failed, {scenario} | {duration_formatted}',
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
  });
  bar.start(total, 0, { failed: 0, scenario: '' });
  return {
    ran: (failed, scenario) => bar.increment(1, { failed, scenario }),
    stop: () => bar.stop(),
  };
}

function startLines(total: number | undefined): Progress {
  let runs = 0;
  let lastMs = performance.now();
  return {
    ran(failed, scenario) {
      runs += 1;
      const nowMs = performance.now();
      if (nowMs - lastMs < lineEveryMs) return;
      lastMs = nowMs;
      const of = total === undefined ? '' : ` of ${total}`;
      process.stderr.write(`${runs}${of} runs, ${failed} failed (${scenario})\n`);
    },
    stop() {
      // The summary on stdout is the last word.
    },
  };
}
