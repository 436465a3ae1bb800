/**
 * Which places of the build a run executes, from V8's block coverage
 * (https://v8.dev/blog/javascript-code-coverage). A mutant can only be noticed by a run that executes its place.
 */

/** Characters `startOffset` to `endOffset - 1` of a script, and how often they were executed. */
export interface CountedRange {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** What V8 reports of one script: functions, each with its own range first and then its blocks. */
export interface ScriptCounts {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly CountedRange[] }[];
}

/** Whether the character at `offset` was executed. V8 leaves out functions within a function that did not run. */
export function isExecuted({ functions }: ScriptCounts, offset: number): boolean {
  let narrowest: CountedRange | undefined;
  for (const { ranges } of functions) {
    for (const range of ranges) {
      if (offset < range.startOffset || offset >= range.endOffset) continue;
      if (narrowest === undefined || widthOf(range) <= widthOf(narrowest)) narrowest = range;
    }
  }
  return narrowest !== undefined && narrowest.count > 0;
}

function widthOf({ startOffset, endOffset }: CountedRange): number {
  return endOffset - startOffset;
}

/** A run of the unchanged engine. */
export interface SurveyedRun {
  readonly scenario: string;
  readonly seed: number;
  readonly passed: boolean;
  readonly digest: string;
  readonly cpuSeconds: number;
  /** Names of the mutants whose places the run executes. */
  readonly reached: readonly string[];
}

/**
 * The seeds by which a mutant is tried, in this order: those of the survey that execute its place, in turn one of a
 * scenario that `leaning` names and one of another scenario, the cheap ones of each first; then further seeds of the
 * same scenarios, in turn, without end. None if no run of the survey executes its place.
 */
export function* seedsReaching(
  name: string,
  survey: readonly SurveyedRun[],
  leaning: readonly string[],
): Generator<{ readonly scenario: string; readonly seed: number }> {
  const runs = survey
    .filter(({ passed, reached }) => passed && reached.includes(name))
    .toSorted((left, right) => left.cpuSeconds - right.cpuSeconds);
  const near = runs.filter(({ scenario }) => leaning.includes(scenario));
  const far = runs.filter(({ scenario }) => !leaning.includes(scenario));
  for (let at = 0; at < Math.max(near.length, far.length); at++) {
    for (const run of [near[at], far[at]])
      if (run !== undefined) yield { scenario: run.scenario, seed: run.seed };
  }
  const scenarios = [...new Set([...near, ...far].map(({ scenario }) => scenario))];
  const last = new Map(scenarios.map((scenario) => [scenario, lastSeedOf(survey, scenario)]));
  for (let more = 1; scenarios.length > 0; more++) {
    for (const scenario of scenarios) yield { scenario, seed: (last.get(scenario) ?? 0) + more };
  }
}

function lastSeedOf(survey: readonly SurveyedRun[], scenario: string): number {
  return Math.max(...survey.filter((run) => run.scenario === scenario).map(({ seed }) => seed));
}
