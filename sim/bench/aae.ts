/**
 * `npm run bench aae`: anti-entropy between two replicas with a million keys each, on real disks and in one process.
 * Measures the cost of building the tree, of an exchange without differences, of finding and repairing a hundred
 * divergent keys, and of the tree to puts. Bytes are those of the peer plane's frames; processor time is that of both
 * sides together.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Answerer } from '../../engine/anti-entropy/answerer.ts';
import { exchange } from '../../engine/anti-entropy/exchange.ts';
import { ExchangePeer } from '../../engine/anti-entropy/exchange-peer.ts';
import { Refresh } from '../../engine/anti-entropy/refresh.ts';
import { RepairScheduler } from '../../engine/anti-entropy/repair.ts';
import { Throttle } from '../../engine/anti-entropy/throttle.ts';
import { Tree, wholeRing } from '../../engine/anti-entropy/tree.ts';
import { decodeQuestion, encodeAnswer } from '../../engine/anti-entropy/messages.ts';
import { present } from '../../engine/base/assert.ts';
import type { ByteString, NodeId } from '../../engine/base/ids.ts';
import { byteStringOf, parseNodeId } from '../../engine/base/ids.ts';
import { defaultType, objectKey } from '../../engine/base/object-key.ts';
import type { PeerLinks } from '../../engine/replication/peer-links.ts';
import { Replica } from '../../engine/replica/replica.ts';
import type { Actor } from '../../engine/replica/object/dots.ts';
import { emptyVector } from '../../engine/replica/object/dots.ts';
import { applyWrite, encodeObject } from '../../engine/replica/object/object.ts';
import { createRealIo } from '../../engine/real/io.ts';
import { routeToken } from '../../engine/cluster/ring/token.ts';
import { StoreDriver, driverDefaults } from '../../engine/storage/driver.ts';
import { silentObserver } from '../../engine/storage/observer.ts';
import { storeDefaults } from '../../engine/storage/options.ts';
import type { StoreWrite } from '../../engine/storage/store.ts';
import { Store } from '../../engine/storage/store.ts';
import type { Io } from '../../engine/io/io.ts';
import type { PeerReply } from '../../engine/peer/wire/messages.ts';
import { estimate, figure, median, table } from './figures.ts';
import type { Estimate } from './figures.ts';

/** Size of the measurement: `keys` per replica, of which `divergent` differ. */
export interface AaeBenchOptions {
  readonly rounds: number;
  readonly keys: number;
  readonly divergent: number;
  readonly json: boolean;
}

interface Side {
  readonly io: Io;
  readonly node: NodeId;
  readonly store: Store;
  readonly replica: Replica;
  readonly refresh: Refresh;
  readonly answerer: Answerer;
  readonly throttle: Throttle;
}

interface Cost {
  readonly cpuS: number;
  readonly wallS: number;
  readonly bytes: number;
  readonly repaired: number;
}

const bucket = byteStringOf('bench');
const batchCount = 1000;
const rules = { allowMult: false, lastWriteWins: false };
/** Approximate bytes of a frame's header and checksum. */
const frameBytes = 24;
const unsynced = { kind: 'interval', intervalUs: 1_000_000_000 } as const;
const actor = byteStringOf('n1.bench') as Actor;

/** Runs the benchmark and prints its table, or one line of JSON. */
export async function run(options: AaeBenchOptions): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-aae-'));
  try {
    const figures = await measure(directory, options);
    process.stdout.write(`${options.json ? JSON.stringify(figures) : describe(figures)}\n`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Figures {
  readonly keys: number;
  readonly divergent: number;
  readonly treeBytes: number;
  readonly build: Cost;
  readonly equal: Cost;
  readonly repair: Cost;
  readonly puts: PutCost;
}

interface PutCost {
  /** Puts per second of processor time, without a tree. */
  readonly putsPerSecond: number;
  /** The rate with a tree, relative to the rate without. */
  readonly watched: Estimate;
}

async function measure(directory: string, { keys, divergent, rounds }: AaeBenchOptions): Promise<Figures> {
  const [left, right] = [await openSide(directory, 'n1'), await openSide(directory, 'n2')];
  for (const side of [left, right]) await load(side.store, 0, keys, 1);
  const build = await timed(async () => {
    for (const side of [left, right]) await side.refresh.settle([wholeRing]);
    return { bytes: 0, repaired: 0 };
  });
  const equal = await timed(() => compare(left, right));
  for (let index = 0; index < divergent; index++) {
    await load(left.store, Math.floor((index * keys) / divergent), 1, 2);
  }
  const repair = await timed(() => compare(left, right));
  const treeBytes = left.refresh.tree.bytes;
  for (const { store } of [left, right]) await store.close();
  const puts = await measurePuts(directory, rounds);
  return { keys, divergent, treeBytes, build, equal, repair, puts };
}

async function openSide(directory: string, name: string): Promise<Side> {
  const io = createRealIo({ dataDirectory: join(directory, name), logLevel: 'error', node: name });
  const store = await Store.open(io, 'store', { ...storeDefaults, nodeName: name, sync: unsynced });
  const driver = new StoreDriver(io, store, silentObserver, driverDefaults);
  const replica = new Replica(driver, io.clock, byteStringOf(`${name}.bench`) as Actor, () => rules);
  const node = present(parseNodeId(name), name);
  const throttle = new Throttle(io.clock, 0);
  const refresh = new Refresh(new Tree(16), store, throttle);
  const answerer = new Answerer(node, io.clock, refresh);
  return { io, node, store, replica, refresh, answerer, throttle };
}

async function timed(work: () => Promise<Pick<Cost, 'bytes' | 'repaired'>>): Promise<Cost> {
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  const done = await work();
  const { user, system } = process.cpuUsage(cpu);
  return { cpuS: (user + system) / 1e6, wallS: (performance.now() - startedMs) / 1000, ...done };
}

async function compare(left: Side, right: Side): Promise<Pick<Cost, 'bytes' | 'repaired'>> {
  const count = { bytes: 0 };
  const identity = { node: right.node, index: 1, datacenter: 'dc1', rack: 'r2' };
  const peer = new ExchangePeer(identity, linksTo(left, right, count), 60_000_000);
  const repairer = new RepairScheduler(left.replica, () => rules, left.io.log);
  let repaired = 0;
  const { refresh, throttle, io } = left;
  const parts = {
    clock: io.clock,
    refresh,
    throttle,
    repair: async (...about: Parameters<RepairScheduler['repair']>) => {
      const repair = await repairer.repair(...about);
      if (repair.outcome === 'repaired') repaired += 1;
      return repair;
    },
    step: () => undefined,
    listed: () => undefined,
    diverged: () => undefined,
    obstacle: () => undefined,
  };
  const end = await exchange(parts, peer, [wholeRing]);
  if (end !== 'finished') throw new Error(`the exchange ended ${end}`);
  return { bytes: count.bytes, repaired };
}

/** Links to the other side without sockets; counts the bytes that would travel. */
function linksTo(from: Side, to: Side, count: { bytes: number }): PeerLinks {
  return {
    request: (_, request, _timeoutUs, onReply) => {
      const answer = (reply: PeerReply, bytes: number): void => {
        count.bytes += bytes + frameBytes;
        from.io.spawn('bench.reply', async () => {
          await Promise.resolve();
          onReply(reply);
        });
      };
      switch (request.kind) {
        case 'antiEntropy':
          count.bytes += request.words.length + frameBytes;
          to.io.spawn('bench.answer', async () => {
            const words = encodeAnswer(await to.answerer.answer(from.node, decodeQuestion(request.words)));
            answer({ kind: 'antiEntropyAnswered', words }, words.length);
          });
          return 'ok';
        case 'readObject':
          count.bytes += request.key.length + frameBytes;
          return to.replica.read(request.key, (error, object) => {
            if (error !== undefined) throw error;
            answer({ kind: 'object', object }, object?.length ?? 0);
          });
        case 'mergeObject':
          count.bytes += request.key.length + request.object.length + frameBytes;
          return to.replica.merge(request.key, request.token, request.object, () => {
            answer({ kind: 'written' }, 0);
          });
        default:
          throw new Error(`no exchange asks for ${request.kind}`);
      }
    },
  };
}

/** Objects of 100 bytes; equal on both sides for the same `version`. */
function writesFrom(from: number, count: number, version: number): StoreWrite[] {
  const none = '' as ByteString;
  return Array.from({ length: count }, (_, index) => {
    const name = byteStringOf(`key-${String(from + index).padStart(12, '0')}`);
    const value = Buffer.alloc(100, version);
    const content = {
      ...{ value, contentType: byteStringOf('text/plain'), charset: none, contentEncoding: none },
      ...{ meta: [], links: [], tombstone: false },
    };
    const object = applyWrite(
      undefined,
      emptyVector,
      content,
      { actor, counter: version },
      1_700_000_000_000,
    );
    const key = objectKey(defaultType, bucket, name).packed;
    return { key, token: routeToken('STD', bucket, name), value: encodeObject(object) };
  });
}

async function load(store: Store, from: number, count: number, version: number): Promise<void> {
  for (let at = from; at < from + count; at += batchCount) {
    await write(store, writesFrom(at, Math.min(batchCount, from + count - at), version));
  }
}

function write(store: Store, batch: readonly StoreWrite[]): Promise<void> {
  return new Promise((resolve, reject) => {
    store.write(batch, (error) => (error === undefined ? resolve() : reject(error)));
  });
}

/**
 * Batches of 1,000 puts without syncs into a store with a tree and into one without, in turns: the tree's share is
 * largest here, and a disturbance affects both. By processor time; the median of neighbouring batches.
 */
async function measurePuts(directory: string, rounds: number): Promise<PutCost> {
  const batches = Array.from({ length: batchesPerRound }, (_, index) =>
    writesFrom(index * batchCount, batchCount, 1),
  );
  const ratios: number[] = [];
  const bareUs: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const bare = await openBare(directory, `puts-${round}-bare`);
    const watched = await openBare(directory, `puts-${round}-watched`);
    const watching = new Refresh(new Tree(16), watched.store, new Throttle(watched.io.clock, 0));
    await watching.settle([wholeRing]);
    for (const [index, batch] of batches.entries()) {
      const [first, second] = index % 2 === 0 ? [bare, watched] : [watched, bare];
      const costs = [await writeCostUs(first.store, batch), await writeCostUs(second.store, batch)];
      const [ofBare = NaN, ofWatched = NaN] = index % 2 === 0 ? costs : costs.toReversed();
      // Round 0 warms up the code and is not counted.
      if (round === 0) continue;
      ratios.push(ofBare / ofWatched);
      bareUs.push(ofBare);
    }
    for (const { store } of [bare, watched]) await store.close();
  }
  return { putsPerSecond: (batchCount * 1e6) / median(bareUs), watched: estimate(ratios) };
}

const batchesPerRound = 200;

async function openBare(directory: string, name: string): Promise<Pick<Side, 'io' | 'store'>> {
  const io = createRealIo({ dataDirectory: join(directory, name), logLevel: 'error', node: name });
  const store = await Store.open(io, 'store', { ...storeDefaults, nodeName: name, sync: unsynced });
  return { io, store };
}

async function writeCostUs(store: Store, batch: readonly StoreWrite[]): Promise<number> {
  const before = process.cpuUsage();
  await write(store, batch);
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function describe(figures: Figures): string {
  const row = (name: string, { cpuS, wallS, bytes, repaired }: Cost): string[] => {
    return [name, figure(cpuS), figure(wallS), figure(bytes), figure(repaired)];
  };
  const { putsPerSecond, watched } = figures.puts;
  const less = (rate: number): string => (100 * (1 - rate)).toFixed(1);
  const plain = plainMerkle();
  return [
    `${figure(figures.keys)} keys a side, ${figure(figures.divergent)} divergent, tree ${figure(figures.treeBytes)} bytes`,
    table([
      ['', 'CPU s, both sides', 'wall s', 'bytes exchanged', 'repaired'],
      row('build both trees', figures.build),
      row('exchange of equal trees', figures.equal),
      row('find and repair', figures.repair),
    ]),
    table([
      ['bytes to find the segments of', 'level by level', 'a plain Merkle exchange', 'fewer'],
      ...plain,
    ]),
    `puts per CPU second ${figure(putsPerSecond)}; with the tree ${less(watched.median)} % less (95 %: ${less(watched.high)} to ${less(watched.low)})`,
  ].join('\n');
}

const hashBytes = 8;
const rangeBytes = 8;
const fanoutBits = 4;
const leafBits = 16;

/**
 * Bytes of the search alone, by formula, for so many differing segments of the default shape, spread evenly. One column
 * is the search level by level: of each node that differs, its children's hashes and its range. The other is a plain
 * Merkle exchange, which sends all leaves' hashes at once (Cassandra sends its whole tree). The keys of the differing
 * segments, and the objects, follow in both.
 */
function plainMerkle(): string[][] {
  return [0, 1, 10, 100, 1_000, 4_000, 10_000, 65_536].map((differing) => {
    let levels = hashBytes + rangeBytes;
    for (let bits = 0; bits < leafBits; bits += fanoutBits) {
      const nodes = Math.min(differing, 1 << bits);
      levels += nodes * (rangeBytes + hashBytes * (1 << fanoutBits));
    }
    const whole = hashBytes * (1 << leafBits);
    const fewer = levels < whole ? 'level by level' : 'plain';
    return [figure(differing), figure(levels), figure(whole), fewer];
  });
}
