/** `LOCKSTEP_GOLDEN=write` rewrites the goldens. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

import fc from 'fast-check';
import parsePrometheusTextFormat from 'parse-prometheus-text-format';
import { describe, expect, it } from 'vitest';

import { poolFamilies, poolFields, serverFamilies, serverFields } from './fixed-fields.ts';
import type { Sample } from './family.ts';
import { Exposition, expositionContentType } from './exposition.ts';
import { HISTOGRAMS } from './histogram-table.ts';
import { renderLegacyJson, renderPrettyJson } from './legacy-json.ts';
import { NodeStats } from './node-stats.ts';
import type { StatsIdentity, StatsSnapshot } from './snapshot.ts';
import { takeSnapshot } from './snapshot.ts';

const identity: StatsIdentity = {
  source: 'n1',
  version: '0.1.0',
  rack: 'rack1',
  dc: 'dc1',
  pool: 'lockstep',
  server: 'store_local',
};

/** A node in which all numbers differ. */
function sampleStats(): NodeStats {
  const stats = new NodeStats();
  poolFields.forEach((field, index) => (stats.pool[field] = 1001 + index));
  serverFields.forEach((field, index) => (stats.server[field] = 2001 + index));
  let scale = 1;
  for (const { field } of HISTOGRAMS) {
    for (let count = 0; count < 2000; count++) stats[field].record(100 * scale);
    for (let count = 0; count < 100; count++) stats[field].record(1000 * scale);
    for (let count = 0; count < 40; count++) stats[field].record(7000 * scale);
    for (let count = 0; count < 5; count++) stats[field].record(90_001 * scale);
    scale += Math.ceil(scale / 2);
  }
  stats.provideMessagePool({ allocated: () => 31, free: () => 32 });
  stats.provideChunkPool({ allocated: () => 33, free: () => 34 });
  stats.readRepairs.started = 43;
  stats.readRepairs.done = 41;
  stats.readRepairs.failed = 2;
  stats.readDisagreements.answered = 37;
  stats.readDisagreements.refused = 5;
  stats.readDisagreements.failed = 3;
  for (const us of [180, 250, 251, 900, 4_000, 12_000_000]) stats.requestDurations.record(us, 'http', 'get');
  stats.requestDurations.record(1_500, 'redis', 'put');
  countFailures(stats);
  countAntiEntropy(stats);
  return stats;
}

function countFailures({ failures }: NodeStats): void {
  failures.startAt('dc1', 'rack1');
  failures.addPeer(1, 'n2', 'dc1', 'rack2', 2);
  failures.addPeer(2, 'n3', 'dc2', 'rack "3"\\', 4);
  failures.noTargets('dc1', 'rack1', 'DC_QUORUM');
  failures.peerSendFull(2, 'dc2');
  failures.peerSendClosed(1, 'dc1');
  failures.peerSendClosed(1, 'dc1');
  failures.backendSendFull();
  failures.backendSendClosed();
  failures.responseTimeout('DC_ONE');
  failures.peerStateTransition(2, 'NORMAL', 'DOWN');
  failures.setPhi(2, 'dc2', 'rack "3"\\', 8123);
}

function countAntiEntropy({ antiEntropy }: NodeStats): void {
  antiEntropy.addPeer(1, 'dc1', 'rack2');
  antiEntropy.exchangeAttempted(1, 'dc1', 'rack2');
  antiEntropy.exchangeSucceeded(1, 'dc1', 'rack2');
  antiEntropy.keysDiverged(1, 'dc1', 'rack2', 7);
  antiEntropy.repairsDispatched(1, 'dc1', 'rack2', 6);
  antiEntropy.setDirtySegments(1, 3);
  antiEntropy.sweepCompleted(1, 1_700_000_000);
  antiEntropy.snapshotSaved();
  antiEntropy.snapshotLoaded();
  antiEntropy.snapshotRejected();
}

function snapshotOf(stats: NodeStats, who: StatsIdentity = identity): StatsSnapshot {
  return takeSnapshot(stats, who, {
    sequence: 9,
    uptimeSeconds: 42,
    timestampSeconds: 1_700_000_042,
    residentBytes: 123_456_789,
  });
}

function expectGolden(name: string, text: string): void {
  const path = new URL(`testdata/${name}`, import.meta.url);
  if (process.env['LOCKSTEP_GOLDEN'] === 'write') writeFileSync(path, text);
  expect(text).toBe(readFileSync(path, 'utf8'));
}

function render(stats: NodeStats, who?: StatsIdentity): Promise<string> {
  return new Exposition().render(snapshotOf(stats, who));
}

describe('the fixed fields', () => {
  it('have 45 and 34 fields, each with a live value and a distinct help text', () => {
    expect(poolFields).toHaveLength(45);
    expect(serverFields).toHaveLength(34);
    const stats = new NodeStats();
    expect(Object.keys(stats.pool)).toEqual(poolFields);
    expect(Object.keys(stats.server)).toEqual(serverFields);
    const meanings = new Set([...poolFamilies, ...serverFamilies].map(({ help }) => help));
    expect(meanings.size).toBe(79);
  });
});

describe('a stats snapshot', () => {
  it('does not change when the live values change', async () => {
    const stats = sampleStats();
    const snapshot = snapshotOf(stats);
    const json = renderLegacyJson(snapshot);
    const text = await new Exposition().render(snapshot);
    stats.pool.client_eof += 1;
    stats.payloadBytes.record(3_000_000);
    stats.failures.peerSendFull(1, 'dc1');
    stats.failures.removePeer(2);
    stats.readRepairs.done += 1;
    expect(renderLegacyJson(snapshot)).toBe(json);
    expect(await new Exposition().render(snapshot)).toBe(text);
    expect(() => Object.assign(snapshot.pool, [5])).toThrow(TypeError);
    expect(() => Object.assign(snapshot.rollups.payloadBytes, { max: 5 })).toThrow(TypeError);
    expect(() => Object.assign(snapshot.families[0] ?? {}, { samples: [] })).toThrow(TypeError);
  });

  it('adds the providers’ readings to a live gauge', () => {
    const stats = new NodeStats();
    stats.pool.client_connections = 2;
    stats.providePoolGauge('client_connections', () => 3);
    stats.providePoolGauge('client_connections', () => 4);
    stats.provideServerGauge('in_queue', () => 5);
    stats.provideMessagePool({ allocated: () => 1, free: () => 10 });
    stats.provideMessagePool({ allocated: () => 2, free: () => 20 });
    const json: unknown = JSON.parse(renderLegacyJson(snapshotOf(stats)));
    expect(json).toMatchObject({ alloc_msgs: 3, free_msgs: 30, lockstep: { client_connections: 9 } });
    expect(json).toMatchObject({ lockstep: { store_local: { in_queue: 5 } } });
  });

  it('refuses numbers that no format could carry', () => {
    const stats = new NodeStats();
    stats.providePoolGauge('peer_in_queue', () => NaN);
    expect(() => snapshotOf(stats)).toThrow('peer_in_queue is a whole number');
    const other = new NodeStats();
    const samples = [{ labels: {}, value: Infinity }];
    other.register({ name: 'svc_x', help: 'X.', type: 'gauge', labels: [], collect: () => samples });
    expect(() => snapshotOf(other)).toThrow('a sample of svc_x is finite');
  });
});

describe('the legacy JSON', () => {
  it('is this line, byte for byte', () => {
    expectGolden('legacy.json', renderLegacyJson(snapshotOf(sampleStats())));
  });

  it('has the same content when it is pretty-printed', () => {
    const snapshot = snapshotOf(sampleStats());
    const pretty = renderPrettyJson(snapshot);
    expect(JSON.parse(pretty)).toEqual(JSON.parse(renderLegacyJson(snapshot)));
    expect(pretty).toBe(`${JSON.stringify(JSON.parse(renderLegacyJson(snapshot)), undefined, 2)}\n`);
  });

  it('keeps its order under a pool whose name is a number', () => {
    const line = renderLegacyJson(snapshotOf(new NodeStats(), { ...identity, pool: '8098', server: '1' }));
    expect(line.startsWith('{"service":"lockstep","source":"n1",')).toBe(true);
    expect(line).toContain(',"dyn_memory":123456789,"8098":{"client_eof":0,');
    expect(line).toContain(',"stats_count":0,"1":{"server_eof":0,');
  });
});

describe('the text exposition', () => {
  it('is this text, byte for byte', async () => {
    expectGolden('metrics.txt', await render(sampleStats()));
  });

  it('has the content type of format 0.0.4', () => {
    expect(expositionContentType).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  it('has one HELP and one TYPE line for every family', async () => {
    const lines = (await render(sampleStats())).split('\n');
    const names = (kind: string) =>
      lines.filter((line) => line.startsWith(`# ${kind} `)).map((line) => line.split(' ')[2]);
    const families = names('HELP');
    expect(names('TYPE')).toEqual(families);
    expect(new Set(families).size).toBe(families.length);
    expect(families).toHaveLength(8 + 45 + 34 + 1 + 16 + 9 + 11 + 2 + 2);
  });

  it('carries any label value through another parser', async () => {
    const rack = fc.string({ unit: 'grapheme', maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(rack, async (name) => {
        const text = await render(new NodeStats(), { ...identity, rack: `[${name}]` });
        const info = parsePrometheusTextFormat(text).find((family) => family.name === 'svc_build_info');
        expect(info?.metrics?.[0]?.labels).toEqual({
          version: '0.1.0',
          source: 'n1',
          rack: `[${name}]`,
          dc: 'dc1',
        });
      }),
      { numRuns: 60 },
    );
  });

  const anyFinite = fc.double({ noDefaultInfinity: true, noNaN: true });

  it('renders with cached text the same as without', async () => {
    const edit = fc.oneof(
      fc.constantFrom(...poolFields).map((field) => (stats: NodeStats) => {
        stats.pool[field] += 1;
      }),
      fc.nat(9).map((peer) => (stats: NodeStats) => {
        stats.failures.addPeer(peer, `n${peer}`, 'dc1', `rack ${peer % 3}`, 2);
      }),
      fc.nat(9).map((peer) => (stats: NodeStats) => stats.failures.removePeer(peer)),
      fc.nat(9_999).map((us) => (stats: NodeStats) => stats.requestLatencyUs.record(us)),
      fc.nat(9).map((peer) => (stats: NodeStats) => stats.failures.peerSendFull(peer, 'dc1')),
      fc
        .record({ at: fc.nat(2), name: fc.constantFrom('why', 'who', 'a "b"\\\n'), value: anyFinite })
        .map(({ at, name, value }) => (_: NodeStats, odd: (Sample | undefined)[]) => {
          odd[at] = { labels: { name, at }, value };
        }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(edit, { maxLength: 4 }), { maxLength: 8 }), async (rounds) => {
        const stats = sampleStats();
        const odd: (Sample | undefined)[] = [{ labels: { name: '', at: 0 }, value: -0 }];
        const collect = (): readonly Sample[] => odd.filter((sample) => sample !== undefined);
        stats.register({ name: 'svc_odd', help: 'Odd\\\n.', type: 'gauge', labels: ['name', 'at'], collect });
        const exposition = new Exposition();
        for (const edits of rounds) {
          for (const change of edits) change(stats, odd);
          const snapshot = snapshotOf(stats);
          expect(await exposition.render(snapshot)).toBe(await new Exposition().render(snapshot));
        }
      }),
      { numRuns: 20 },
    );
  });

  it('shows a family that is registered late, and refuses a duplicate name', async () => {
    const stats = new NodeStats();
    const exposition = new Exposition();
    await exposition.render(snapshotOf(stats));
    const late = { name: 'svc_late_total', help: 'Late.', type: 'counter', labels: ['why'] } as const;
    stats.register({ ...late, collect: () => [{ labels: { why: 'traffic' }, value: 5 }] });
    expect(await exposition.render(snapshotOf(stats))).toContain('\nsvc_late_total{why="traffic"} 5\n');
    stats.register({ ...late, collect: () => [] });
    await expect(exposition.render(snapshotOf(stats))).rejects.toThrow('a name of its own');
  });

  const promtool = spawnSync('promtool', ['--version']).status === 0;
  const only = promtool ? '' : ' (skipped: promtool of the prometheus package is not installed)';
  it.skipIf(!promtool)(`is accepted by promtool${only}`, async () => {
    const checked = spawnSync('promtool', ['check', 'metrics'], { input: await render(sampleStats()) });
    // promtool's remarks (exit status 3) concern names and units that the published formats prescribe, nothing else.
    expect(checked.status).toBe(3);
    for (const remark of checked.stderr.toString().trim().split('\n')) {
      expect(remark).toMatch(
        /^(aae_\w+_gauge metric name should not include type 'gauge'|svc_\w+ non-summary metrics should not have "quantile" label|svc_\w+_microseconds use base unit "seconds" instead of "microseconds")$/,
      );
    }
  });
});
