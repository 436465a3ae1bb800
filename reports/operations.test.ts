/** Tests the alert rules and the dashboard: their PromQL is valid and reads only families that a node publishes. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { configFields } from '../engine/config/keys.ts';
import { keyOf } from '../engine/config/config-key.ts';
import { TransactionMetrics } from '../engine/transactions/metrics.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
const golden = readFileSync(`${here}../engine/metrics/testdata/metrics.txt`, 'utf8');
const none = (): number => 0;
const ofTransactions = new TransactionMetrics().families({
  prepared: none,
  inDoubt: none,
  oldestAgeMs: none,
  locks: none,
});
const published = new Set([
  ...[...golden.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1]),
  ...ofTransactions.map(({ name }) => name),
]);

const promtool = spawnSync('promtool', ['--version']).status === 0;
const only = promtool ? '' : ' (skipped: promtool of the prometheus package is not installed)';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

function alertRules(): readonly Rule[] {
  const file = parse(readFileSync(`${here}alerts.yaml`, 'utf8')) as { groups: { rules: Rule[] }[] };
  return file.groups.flatMap(({ rules }) => rules);
}

interface Panel {
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
}

function panels(): readonly Panel[] {
  const dashboard = JSON.parse(readFileSync(`${here}grafana-dashboard.json`, 'utf8')) as { panels: Panel[] };
  return dashboard.panels;
}

function panelExpressions(): readonly string[] {
  return panels().flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** The families that the expressions read. */
function familiesIn(expressions: readonly string[]): readonly string[] {
  const names = expressions.flatMap(
    (expr) => expr.match(/\b(svc|dispatch|peer_state|gossip|aae)_\w+/g) ?? [],
  );
  return [...new Set(names.map((name) => name.replace(/_seconds_bucket$/, '_seconds')))];
}

/** The families of failure causes and anti-entropy of the service document, as the golden file has them. */
function causeFamilies(): readonly string[] {
  return [...published].filter((name): name is string => name !== undefined && !name.startsWith('svc_'));
}

describe('the alert rules', () => {
  it('read families that a node publishes, and every failure of requests or anti-entropy has an alert', () => {
    const read = familiesIn(alertRules().map(({ expr }) => expr));
    expect(read.filter((name) => !published.has(name))).toEqual([]);
    // Saving and loading a tree snapshot is no failure.
    const harmless = ['aae_snapshot_save_total', 'aae_snapshot_load_total'];
    const causes = read.filter((name) => !name.startsWith('svc_'));
    expect([...causes, ...harmless].toSorted()).toEqual(causeFamilies().toSorted());
  });

  it('each have a section of the runbooks, which says all that an operator needs and names what nodes publish', () => {
    const [, ...sections] = readFileSync(`${here}../engine/docs/runbooks.md`, 'utf8').split(/^## /m);
    const titles = sections.map((section) => section.split('\n', 1)[0] ?? '');
    expect(titles).toEqual(alertRules().map(({ alert }) => alert));
    for (const { alert, annotations } of alertRules()) {
      expect(annotations['runbook_url']).toBe(`runbooks.md#${alert.toLowerCase()}`);
    }
    for (const section of sections) {
      for (const part of ['Means', 'Clients see', 'Look at', 'Do', 'Over when'])
        expect(section).toContain(`**${part}**`);
    }
    const keys = configFields.map(keyOf);
    const named = familiesIn(sections).filter((name) => !keys.includes(name));
    expect(named.filter((name) => !published.has(name))).toEqual([]);
  });

  it.skipIf(!promtool)(`are accepted by promtool, each fires when it must and only then${only}`, () => {
    const check = spawnSync('promtool', ['check', 'rules', `${here}alerts.yaml`]);
    expect(check.stdout.toString()).toContain(`SUCCESS: ${alertRules().length} rules found`);
    const test = spawnSync('promtool', ['test', 'rules', `${here}testdata/alerts.test.yaml`]);
    expect(test.stderr.toString() + test.stdout.toString()).toContain('SUCCESS');
    expect(test.status).toBe(0);
  });
});

describe('the dashboard', () => {
  it('reads families that a node publishes, and every failure-cause and anti-entropy family among them', () => {
    const read = familiesIn(panelExpressions());
    expect(read.filter((name) => !published.has(name))).toEqual([]);
    expect(causeFamilies().filter((name) => !read.includes(name))).toEqual([]);
  });

  it('names alerts that exist', () => {
    const alerts = alertRules().map(({ alert }) => alert);
    const named = panels().flatMap(({ description = '' }) => description.match(/Lockstep[A-Z]\w+/g) ?? []);
    expect([...new Set(named)].toSorted()).toEqual(alerts.toSorted());
  });

  it.skipIf(!promtool)(`asks in valid PromQL${only}`, () => {
    const rules = panelExpressions().map((expr, index) => {
      const filled = expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*');
      return `      - record: panel_${index}\n        expr: ${JSON.stringify(filled)}\n`;
    });
    const directory = mkdtempSync(join(tmpdir(), 'lockstep-panels-'));
    const path = join(directory, 'panels.yaml');
    writeFileSync(path, `groups:\n  - name: panels\n    rules:\n${rules.join('')}`);
    const check = spawnSync('promtool', ['check', 'rules', path]);
    rmSync(directory, { recursive: true });
    const said = check.stderr.toString() + check.stdout.toString();
    expect(said).toContain(`SUCCESS: ${rules.length} rules found`);
  });
});
