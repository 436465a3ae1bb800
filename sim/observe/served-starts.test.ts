import { expect, it } from 'vitest';

import type { NodeId, Token } from '../../engine/base/ids.ts';
import { encodeGossip } from '../../engine/cluster/membership/gossip-codec.ts';
import { expectedRecord } from '../../engine/cluster/membership/settings.ts';
import type { Trace } from '../world/core/trace.ts';
import { worldEvents } from '../world/core/trace.ts';
import { traceOfNode } from './node-trace.fixture.ts';
import { ServedStarts } from './served-starts.ts';

/** A member file that names `n2` by its third incarnation. */
function memberFile(): Buffer {
  const place = { node: 'n2' as NodeId, datacenter: 'dc1', rack: 'r1', tokens: [1 as Token] };
  const record = { ...expectedRecord({ ...place, address: 'n2:1' }), epoch: 'e1', generation: 3 };
  return Buffer.concat([Buffer.alloc(12), encodeGossip({ digest: [], records: [record], view: '-' })]);
}

/** What `n1` does wrong in a start with these steps. */
function wrongIn(steps: (trace: Trace, starts: ServedStarts) => void): readonly string[] {
  const trace = traceOfNode();
  const starts = new ServedStarts(
    trace,
    () => 1,
    (_, path) => (path === 'members' ? memberFile() : undefined),
  );
  trace.happened(worldEvents.hostBooted, 0, 1);
  steps(trace, starts);
  return starts.wrong.map(({ text }) => text);
}

it('a start knows the members that its file names, by incarnations that are as new', () => {
  const started = (members: string) => (trace: Trace) =>
    trace.logged(0, 'info', 'membership.started', { members });
  for (const members of ['n2=3', 'n3=7 n2=4']) expect(wrongIn(started(members))).toEqual([]);
  for (const members of ['', 'n3=7', 'n2=2']) expect(wrongIn(started(members))).toHaveLength(1);
  const altered = wrongIn((trace, starts) => {
    starts.altered('n1', 'members');
    started('')(trace);
  });
  expect(altered).toEqual([]);
});

it('a store is moved aside with its manifest first, durably', () => {
  const moved = (trace: Trace, name: string): void =>
    trace.happened(worldEvents.nameRenamed, 0, 1, 0, `hints/${name}.unread`);
  const synced = (trace: Trace, directory: string): void =>
    trace.happened(worldEvents.directorySynced, 0, 2, 0, directory);
  const sound = wrongIn((trace) => {
    synced(trace, 'hints');
    moved(trace, 'MANIFEST');
    synced(trace, 'hints');
    moved(trace, '00000001.log');
  });
  expect(sound).toEqual([]);
  const early = wrongIn((trace) => {
    synced(trace, 'hints');
    moved(trace, 'MANIFEST');
    synced(trace, 'store');
    moved(trace, '00000001.log');
  });
  expect(early).toHaveLength(1);
});

it('a start syncs the directory of a store before it changes a name there', () => {
  for (const event of [worldEvents.nameRenamed, worldEvents.nameRemoved]) {
    const changed = (trace: Trace, path: string): void => trace.happened(event, 0, 1, 0, path);
    const sound = wrongIn((trace) => {
      trace.happened(worldEvents.directorySynced, 0, 2, 0, 'store');
      changed(trace, 'store/00000001.log');
      changed(trace, 'aae/tree.snapshot');
    });
    expect(sound).toEqual([]);
    const early = wrongIn((trace) => {
      changed(trace, 'store/00000001.log');
      trace.happened(worldEvents.directorySynced, 0, 2, 0, 'store');
      changed(trace, 'store/00000002.log');
    });
    expect(early).toHaveLength(1);
  }
});

it('a node that gives up the file of its hash tree does so durably before it serves', () => {
  const removed = (trace: Trace): void =>
    trace.happened(worldEvents.nameRemoved, 0, 1, 0, 'aae/tree.snapshot');
  const started = (trace: Trace): void => trace.logged(0, 'info', 'membership.started', { members: 'n2=3' });
  const wrong = (between: (trace: Trace) => void): readonly string[] =>
    wrongIn((trace) => {
      removed(trace);
      between(trace);
      started(trace);
    });
  expect(wrong((trace) => trace.happened(worldEvents.directorySynced, 0, 1, 0, 'aae'))).toEqual([]);
  expect(wrong((trace) => trace.logged(0, 'error', 'aae.snapshot.kept', {}))).toEqual([]);
  expect(wrong(() => undefined)).toHaveLength(1);
});

it('a start cuts nothing from a log of which it was refused a read', () => {
  const cut = (trace: Trace, path: string): void => trace.logged(0, 'warn', 'store.tail.cut', { path });
  const wrong = wrongIn((trace, starts) => {
    starts.refusedRead('n1', 'store/00000001.log');
    cut(trace, 'store/00000002.log');
    cut(trace, 'store/00000001.log');
    trace.happened(worldEvents.hostBooted, 0, 1);
    cut(trace, 'store/00000001.log');
  });
  expect(wrong).toEqual(['cuts the end of store/00000001.log, of which the disk has refused it a read']);
});
