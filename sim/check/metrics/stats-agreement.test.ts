/** The texts are the golden files of engine/metrics: one sample node, in which every number is different. */
import { readFileSync } from 'node:fs';

import parsePrometheusTextFormat from 'parse-prometheus-text-format';
import { describe, expect, it } from 'vitest';

import { parseExposition, seriesName } from './exposition-text.ts';
import { checkStatsAgreement, compareStats } from './stats-agreement.ts';

const testdata = new URL('../../../engine/metrics/testdata/', import.meta.url);
const json = readFileSync(new URL('legacy.json', testdata), 'utf8');
const metrics = readFileSync(new URL('metrics.txt', testdata), 'utf8');

const header = '# HELP a_total A.\n# TYPE a_total counter\n';
const histogram = '# HELP a_seconds A.\n# TYPE a_seconds histogram\n';

describe('the reader of the text exposition', () => {
  it('reads what another parser reads', () => {
    // The other parser drops the labels of histograms; the next test reads those.
    const isPlain = ({ type }: { readonly type: string }): boolean => type.toLowerCase() !== 'histogram';
    const ours = parseExposition(metrics)
      .filter(isPlain)
      .flatMap(({ name, help, type, samples }) =>
        samples.map(({ labels, value }) => ({ name, help, type, labels: Object.fromEntries(labels), value })),
      );
    const theirs = parsePrometheusTextFormat(metrics)
      .filter(isPlain)
      .flatMap(({ name, help, type, metrics: samples = [] }) =>
        samples.map(({ labels = {}, value }) => ({
          name,
          help,
          type: type.toLowerCase(),
          labels,
          value: Number(value),
        })),
      );
    expect(ours).toEqual(theirs);
    expect(ours.length).toBeGreaterThan(150);
  });

  it('reads every value of a histogram', () => {
    const name = 'svc_request_duration_seconds';
    const family = parseExposition(metrics).find((one) => one.name === name);
    const texts = (family?.samples ?? []).map(
      (sample) => `${lineOf(sample.name, [...sample.labels])} ${sample.value}`,
    );
    expect(texts).toEqual(metrics.split('\n').filter((line) => line.startsWith(name)));
    expect(texts).toHaveLength(2 * 18);
  });

  it('undoes the escapes of labels and of help texts', () => {
    const text = '# HELP a A \\\\ and\\nB\n# TYPE a gauge\na{x="q\\"\\\\\\n,y=\\"",y="}"} -1.5e3\n';
    const [family] = parseExposition(text);
    expect(family?.help).toBe('A \\ and\nB');
    expect([...(family?.samples[0]?.labels ?? [])]).toEqual([
      ['x', 'q"\\\n,y="'],
      ['y', '}'],
    ]);
    expect(family?.samples[0]?.value).toBe(-1500);
  });

  it.each([
    ['the text does not end with a newline', `${header}a_total 1`],
    ['HELP line already', `${header}a_total 1\n${header}`],
    ['TYPE line already', `${header}# TYPE a_total counter\n`],
    ['does not follow the HELP line', '# TYPE a_total counter\n'],
    ['no TYPE line', '# HELP a_total A.\n'],
    ['the help is empty', '# HELP a_total \n# TYPE a_total counter\n'],
    ['neither counter, gauge nor histogram', '# HELP a A.\n# TYPE a summary\n'],
    ['outside its family', `${histogram}a_seconds 1\n`],
    ['outside its family', `${histogram}a_seconds_bucket 1\n`],
    ['outside its family', `${histogram}a_seconds_sum{le="1"} 1\n`],
    ['a histogram is negative', `${histogram}a_seconds_count -1\n`],
    ['does not end in _total', '# HELP a A.\n# TYPE a counter\n'],
    ['no finite number', `${header}a_total Nan\n`],
    ['no finite number', `${header}a_total +Inf\n`],
    ['no finite number', `${header}a_total 0x10\n`],
    ['a counter is negative', `${header}a_total -1\n`],
    ['is there twice', `${header}a_total{x="1",y="2"} 1\na_total{y="2",x="1"} 2\n`],
    ['the label x is there twice', `${header}a_total{x="1",x="2"} 1\n`],
    ['the labels are malformed', `${header}a_total{x="a"b"} 1\n`],
    ['the labels are malformed', `${header}a_total{x="\\t"} 1\n`],
    ['outside its family', `${header}b_total 1\n`],
    ['this is no sample', `${header}a_total\n`],
  ])('refuses a text in which %s', (why, text) => {
    expect(() => parseExposition(text)).toThrow(why);
  });
});

describe('the agreement of the two formats', () => {
  it('holds for two renderings of one snapshot', () => {
    expect(compareStats(json, metrics)).toMatchObject({ differences: [], compared: 4 + 37 + 45 + 34 });
  });

  it('breaks when any number of the JSON is another one', () => {
    const numbers = [...json.matchAll(/:(\d+)(?=[,}])/g)];
    expect(numbers).toHaveLength(37 + 45 + 34);
    for (const match of numbers) {
      const at = match.index + 1;
      const length = match[1]?.length ?? 0;
      const changed = `${json.slice(0, at)}${Number(match[1]) + 1}${json.slice(at + length)}`;
      expect(compareStats(changed, metrics).differences).toHaveLength(1);
    }
  });

  it('breaks when any sample with a place in the JSON changes, goes or gets a twin', () => {
    const families = parseExposition(metrics);
    const samples = families.flatMap((family) => family.samples);
    const placed = samples.filter(({ labels, name }) => {
      const quantile = labels.get('quantile') ?? '';
      const textOnly = /cross|server/.test(name) && ['0.95', '0.999', 'max'].includes(quantile);
      return (
        !textOnly &&
        /^svc_(?!build_info|peer_state|read_repairs|read_disagreements|aae|request_duration|store_flush)/.test(
          name,
        )
      );
    });
    expect(placed).toHaveLength(37 + 45 + 34);
    for (const sample of placed) {
      const line = lineOf(sample.name, [...sample.labels]);
      expect(metrics).toContain(`\n${line} ${sample.value}\n`);
      const changed = metrics.replace(`\n${line} ${sample.value}\n`, `\n${line} ${sample.value + 1}\n`);
      const gone = metrics.replace(`\n${line} ${sample.value}\n`, '\n');
      expect(compareStats(json, changed).differences).toHaveLength(1);
      expect(compareStats(json, gone).differences.join()).toContain(seriesName(sample));
    }
  });

  it('breaks when the text has more than the JSON', () => {
    const more = '\n# HELP svc_pool_more_total M.\n# TYPE svc_pool_more_total counter\n';
    const differences = compareStats(json, `${metrics}${more}svc_pool_more_total{pool="lockstep"} 0\n`);
    expect(differences.differences).toEqual([
      'svc_pool_more_total{pool="lockstep"} is in the text, but not in the JSON',
    ]);
  });

  it('breaks when the JSON has more, or less, or other names than the text', () => {
    const cases = [
      json.replace('"uptime":42,', ''),
      json.replace('"uptime":42,', '"uptime":42,"downtime":1,'),
      json.replace('"source":"n1"', '"source":"n2"'),
      json.replace('"client_eof":1001,', ''),
      json.replace('"client_eof":1001,', '"client_eof":1001.5,'),
      json.replace('"lockstep":{', '"lockstop":{'),
      json.slice(1),
      '[]',
    ];
    for (const text of cases) expect(compareStats(text, metrics).differences).not.toEqual([]);
    expect(compareStats(json, metrics.replace('# TYPE svc_alloc_msgs gauge\n', '')).differences).toHaveLength(
      1,
    );
  });

  it('is judged per scrape, skipping those that saw nothing', () => {
    const seen = { stats: json, metrics };
    const wrong = { stats: json.replace('"uptime":42', '"uptime":43'), metrics };
    const look = (id: string, atUs: number, what: typeof seen | undefined) => {
      return { id, node: 'n1', atUs, seen: what };
    };
    const good = checkStatsAgreement([look('s1', 1, seen), look('s2', 2, undefined)]);
    expect(good).toMatchObject({ invariant: 'stats-agreement', ok: true, checked: 1, skipped: 1 });
    const bad = checkStatsAgreement([look('s1', 1, seen), look('s2', 2, wrong)]);
    expect(bad).toMatchObject({ ok: false, checked: 2, firstBad: { atUs: 2 } });
    expect(bad.reasons[0]).toBe('s2 of n1: uptime is 43 in the JSON, svc_uptime_seconds is 42 in the text');
  });
});

function lineOf(name: string, labels: readonly (readonly [string, string])[]): string {
  const pairs = labels.map(([label, value]) => `${label}="${value}"`);
  return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`;
}
