/**
 * `valid-exposition` (INV26), the exposition is valid. The answer of `/metrics` at any instant parses strictly as text
 * format 0.0.4 (exposition-text.ts) and has a bounded number of samples. Within one incarnation no counter decreases,
 * from scrape to scrape and from account to account, and a scrape shows no more than the node has counted by then. The
 * five rollups of a histogram fit one set of values. Each text, and each account after the first of its incarnation, is
 * one comparison. Skipped: scrapes without a complete answer.
 */
import { CountedSeries } from './counted-series.ts';
import type { ExpositionReader, ParsedFamily } from './exposition-text.ts';
import { ExpositionError, expositionReader } from './exposition-text.ts';
import type { IncarnationAccount } from './reconcile/account.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';
import type { StatsSample } from './stats-agreement.ts';

/** A sample and the incarnation that it saw; '' when that is unknown. */
export interface IncarnationSample extends StatsSample {
  readonly life: string;
}

type Counters = ReadonlyMap<string, number>;

/**
 * Largest number of samples of one exposition: the node's own (404 today) and up to 23 series of native histograms with
 * 18 samples each; each of the node's peers has further ones.
 */
const samplesMax = 420 + 23 * 18;
const samplesPerPeerMax = 80;

/** Scrapes of clients, and samples of the nodes' metrics. */
export interface ExpositionEvidence {
  readonly scrapes: readonly IncarnationSample[];
  readonly accounts: readonly IncarnationAccount[];
  readonly reader: ExpositionReader;
}

/** The row of `valid-exposition`. */
export const validExpositionRow = invariant({
  name: 'valid-exposition',
  code: 'INV26',
  promise: 'scrapes parse, and counters never decrease',
  gravity: 'operations',
  breach: 'a scraper rejects the text, or computes rates from a counter that went back',
  needs: ['accounts'],
  everydayFloor: 10,
  floorOf:
    // Each sample but the first of an incarnation with the one before it, and each complete scrape.
    ({ samples, incarnations, scrapes }) => scrapes + samples - incarnations,
  check: ({ scrapes, accounts, reader }: ExpositionEvidence) => checkExposition(scrapes, accounts, reader),
});

/** Checks the scrapes (`looks`) and the accounts of a run. */
export function checkExposition(
  looks: readonly IncarnationSample[],
  accounts: readonly IncarnationAccount[],
  parse = expositionReader(),
): CheckReport {
  const tally = new Tally('valid-exposition');
  const counted = new CountedSeries();
  const last = new Map<string, Counters>();
  for (const look of looks.toSorted((left, right) => left.atUs - right.atUs)) {
    if (look.seen === undefined) tally.skip();
    else checkLook(tally, look, parsed(look.seen.metrics, parse), { accounts, counted, last });
  }
  checkAccounts(tally, accounts, counted);
  return tally.report();
}

interface Known {
  readonly accounts: readonly IncarnationAccount[];
  readonly counted: CountedSeries;
  /** The counters of the previous scrape, by node and incarnation. */
  readonly last: Map<string, Counters>;
}

function checkLook(
  tally: Tally,
  { id, node, life, atUs }: IncarnationSample,
  families: readonly ParsedFamily[] | string,
  { accounts, counted, last }: Known,
): void {
  if (typeof families === 'string') {
    tally.compare(false, atUs, () => `${id} of ${node}: ${families}`);
    return;
  }
  const samples = families.reduce((sum, family) => sum + family.samples.length, 0);
  const account = accounts.find((one) => one.node === node && one.atUs === atUs && lifeName(one) === life);
  const most = samplesMax + samplesPerPeerMax * (account?.truth.peersMax ?? 64);
  const counters = countersIn(families);
  const before = last.get(`${node} ${life}`);
  const fallen = life === '' || before === undefined ? undefined : firstFall(before, counters);
  const ahead = account === undefined ? undefined : firstFall(counters, counted.of(account));
  const askew = families.map(askewRollups).find((sentence) => sentence !== undefined);
  if (life !== '') last.set(`${node} ${life}`, counters);
  const valid = samples <= most && fallen === undefined && ahead === undefined && askew === undefined;
  tally.compare(valid, atUs, () => {
    if (askew !== undefined) return `${id} of ${node}: ${askew}`;
    if (samples > most) return `${id} of ${node}: ${samples} samples, at most ${most} are expected`;
    return `${id} of ${node}: ${fallen ?? `published before it was counted: ${ahead ?? ''}`}`;
  });
}

/**
 * How the rollups of a family contradict each other: percentiles that decrease, or a mean that no values with these
 * percentiles and this maximum have (at most 1 - p of them exceed the percentile p). Undefined if there is no
 * contradiction, or no rollups.
 */
export function askewRollups({ name, samples }: ParsedFamily): string | undefined {
  const rollups = new Map<string, number>();
  for (const { labels, value } of samples) {
    const quantile = labels.get('quantile');
    if (quantile !== undefined) rollups.set(quantile, value);
  }
  if (rollups.size === 0) return undefined;
  const [mean = NaN, max = NaN] = [rollups.get('mean'), rollups.get('max')];
  let below = 0;
  let fits = mean <= max;
  for (const quantile of ['0.95', '0.99', '0.999']) {
    const percentile = rollups.get(quantile) ?? NaN;
    const above = 1 - Number(quantile);
    // Means are rounded up.
    const most = (percentile + above * (max - percentile)) * (1 + 1e-9) + 1;
    fits &&= percentile >= below && percentile <= max && mean <= most;
    fits &&= mean >= Math.floor(above * percentile * (1 - 1e-9));
    below = percentile;
  }
  if (fits) return undefined;
  const shown = [...rollups].map(([quantile, value]) => `${quantile} ${value}`).join(', ');
  return `the rollups of ${name} contradict each other: ${shown}`;
}

function checkAccounts(tally: Tally, accounts: readonly IncarnationAccount[], counted: CountedSeries): void {
  const last = new Map<string, Counters>();
  for (const account of accounts) {
    const name = `${account.node} ${lifeName(account)}`;
    const before = last.get(name);
    const counters = counted.of(account);
    last.set(name, counters);
    if (before === undefined) continue;
    const fallen = firstFall(before, counters);
    tally.compare(fallen === undefined, account.atUs, () => `${name}: ${fallen ?? ''}`);
  }
}

/** The first series that decreased or disappeared; undefined if none did. */
function firstFall(earlier: Counters, later: Counters): string | undefined {
  for (const [series, value] of earlier) {
    const now = later.get(series);
    if (now === undefined) return `${series} was ${value} and is gone`;
    if (now < value) return `${series} fell from ${value} to ${now}`;
  }
  return undefined;
}

function parsed(text: string, parse: ExpositionReader): readonly ParsedFamily[] | string {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof ExpositionError)) throw error;
    return error.message;
  }
}

function countersIn(families: readonly ParsedFamily[]): Counters {
  const counters = new Map<string, number>();
  for (const { type, samples } of families) {
    if (type === 'gauge') continue;
    for (const { series, value } of samples) counters.set(series, value);
  }
  return counters;
}

function lifeName({ life }: IncarnationAccount): string {
  return `life ${life}`;
}
