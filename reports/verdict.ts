/** Says in words how a recorded run ended. Pure; pages and files share it. */
import type { Recording } from '../sim/record/recording.ts';
import { grouped, many } from './numbers.ts';

/** The head of a page: what happened, in one sentence, and what it means. */
export interface VerdictText {
  readonly verdict: 'passed' | 'failed' | 'unknown';
  readonly title: string;
  /** The promise and what its breach means; empty if none broke. */
  readonly meaning: string;
  /** The first violation, as the check states it. */
  readonly evidence: string;
  readonly figures: string;
}

/** The verdict of a recording in words. */
export function verdictText({ result, concern }: Recording): VerdictText {
  const run = `${result.scenario}, seed ${result.seed}`;
  const seconds = `${(result.virtualUs / 1_000_000).toFixed(3)} s`;
  const { ok, fail, unknown } = result.outcomes;
  const struck = Object.values(result.struck).reduce((sum, times) => sum + times, 0);
  const figures = `${many(result.events, 'event')} in ${seconds} of virtual time; operations: ${grouped(ok)} ok, ${grouped(fail)} failed, ${grouped(unknown)} unknown; ${many(struck, 'fault')} struck`;
  if (result.verdict === 'unknown') {
    const title = `${run} ended without a verdict`;
    return { verdict: 'unknown', title, meaning: result.because, evidence: '', figures };
  }
  if (concern === undefined) {
    const title = `${run} passed: every promise that it checked was kept`;
    return { verdict: result.verdict, title, meaning: '', evidence: '', figures };
  }
  const broken = result.reports.find(({ invariant }) => invariant === concern.invariant);
  const title =
    broken?.vacuous === true
      ? `${run} proves nothing about ${concern.invariant}: it compared too little`
      : `${run} broke the promise of ${concern.invariant}`;
  const promise = concern.promise === '' ? '' : `The promise: ${concern.promise}. `;
  const breach = concern.breach === '' ? '' : `It is broken: ${concern.breach}.`;
  const at = `${(concern.atUs / 1_000_000).toFixed(6)} s`;
  const evidence = concern.text === '' ? '' : `At ${at}: ${concern.text}`;
  return { verdict: result.verdict, title, meaning: `${promise}${breach}`, evidence, figures };
}
