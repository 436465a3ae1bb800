/**
 * The simulator as a browser's worker: engine, world and checks, bundled into one file (`.ci/browser.js`). The same
 * plan gives the same digest as in Node.js (`worker.test.ts`). Answers one question at a time, in order.
 */
import './node/globals.ts';

import { scenarios } from '../../scenarios/catalogue.ts';
import { faultRows } from '../faults/fault-table.ts';
import { recordRun } from '../record/record-run.ts';
import { runPlan } from '../runner/run.ts';
import { planOfSeed } from '../runner/task.ts';
import type { Answer, Answered, Asked, FaultEntry, Question } from './protocol.ts';

type WorkerScope = typeof globalThis & {
  onmessage: (event: { readonly data: Question }) => void;
  postMessage(answer: Answer): void;
};

const scope = globalThis as WorkerScope;

async function answerTo(asked: Asked): Promise<Answered> {
  switch (asked.kind) {
    case 'plan':
      return { kind: 'planned', plan: planOfSeed(asked.scenario, asked.seed) };
    case 'record':
      return { kind: 'recorded', recording: await recordRun(asked.plan, () => performance.now()) };
    case 'catalogue': {
      const named = scenarios.map(({ name, description }) => ({ name, description }));
      return { kind: 'catalogued', scenarios: named, faults: faultEntries() };
    }
    case 'digest': {
      const startMs = performance.now();
      const { digest, events } = await runPlan(asked.plan, { unobserved: true });
      return { kind: 'digested', digest, events, wallMs: performance.now() - startMs };
    }
  }
}

/** Kinds that aim at nodes, each with the least of its parameters. */
function faultEntries(): readonly FaultEntry[] {
  const rows = faultRows.filter(({ aim }) => aim === 'node' || aim === 'side');
  return rows.map(({ name, description, aim, lasting, params }) => ({
    ...{ kind: name, description, aim, lasting },
    params: Object.fromEntries(
      Object.entries(params).map(([field, range]) => [
        field,
        range.kind === 'integer' ? Math.max(range.min, 0) : (range.of[0] ?? ''),
      ]),
    ),
  }));
}

async function answerOrFail(asked: Asked): Promise<Answered> {
  try {
    return await answerTo(asked);
  } catch (error) {
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}

let before: Promise<void> = Promise.resolve();
scope.onmessage = ({ data }) => {
  // One world runs at a time in a thread.
  before = before.then(async () => scope.postMessage({ id: data.id, ...(await answerOrFail(data)) }));
};
