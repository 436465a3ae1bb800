/**
 * `npm run bench -- dispatch`: the cost that the dispatcher adds to a request, with store and network in memory (a map,
 * and plain calls). Measures microseconds of processor time per quorum request and the number of peers asked, through a
 * replica and through a node without a copy. Medians of rounds, in one process.
 */
import { performance } from 'node:perf_hooks';
import process from 'node:process';

import { present } from '../../engine/base/assert.ts';
import { byteStringOf } from '../../engine/base/ids.ts';
import type { NodeId } from '../../engine/base/ids.ts';
import { defaultType, objectKey } from '../../engine/base/object-key.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { ClusterDispatcher } from '../../engine/replication/cluster-dispatcher.ts';
import type { RoundDependencies, DispatchSettings } from '../../engine/replication/round-dependencies.ts';
import type { PeerLinks } from '../../engine/replication/peer-links.ts';
import { PeerService } from '../../engine/replication/peer-service.ts';
import { ReadBudget } from '../../engine/replication/read-budget.ts';
import { ReadSpread } from '../../engine/replication/read-spread.ts';
import { Replica } from '../../engine/replica/replica.ts';
import type { MemoryStore } from '../../engine/replica/key-slots.ts';
import type { Io } from '../../engine/io/io.ts';
import { plainContent } from '../../engine/replica/object/content.ts';
import type { Actor } from '../../engine/replica/object/dots.ts';
import { emptyVector } from '../../engine/replica/object/dots.ts';
import { defaultProperties } from '../../engine/buckets/properties.ts';
import { noCustomRoute, Router } from '../../engine/buckets/router.ts';
import type { Member } from '../../engine/cluster/ring/ring.ts';
import { Ring } from '../../engine/cluster/ring/ring.ts';
import { tokensOfNode } from '../../engine/cluster/ring/token.ts';
import { NodeStats } from '../../engine/metrics/node-stats.ts';
import { figure, median, table } from './figures.ts';

/** Number of rounds and form of the output. */
export interface DispatchBenchOptions {
  readonly rounds: number;
  readonly json: boolean;
}

const requestCount = 20_000;
const keyCount = 1000;
const valueBytes = 100;
const settings: DispatchSettings = { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', timeoutMs: 5000 };

/** Runs the benchmark and prints its table, or one line of JSON. */
export async function run({ rounds, json }: DispatchBenchOptions): Promise<void> {
  const requests = await measureRequests(rounds);
  console.log(json ? JSON.stringify({ requests }) : requestTable(requests));
}

interface RequestFigures {
  readonly name: string;
  readonly cpuUs: number;
  readonly peersAsked: number;
  readonly hops: number;
}

/** A node in memory: its dispatcher, and its handlers for peers' requests. */
interface Machine {
  readonly dispatcher: ClusterDispatcher;
  readonly service: PeerService;
}

/** Requests of peers as plain calls; counts them, and the longest chain of the current request. */
class Wires {
  readonly machines = new Map<NodeId, Machine>();
  asked = 0;
  hops = 0;
  #depth = 0;

  links(): PeerLinks {
    return {
      request: (peer, request, _timeoutUs, onReply) => {
        this.asked += 1;
        this.#depth += 1;
        this.hops = Math.max(this.hops, this.#depth);
        const { service } = present(this.machines.get(peer), 'a peer');
        // No asker is known here, so no write has a name.
        if (request.kind === 'coordinateWrite')
          service.coordinate(peer, { ...request, asked: undefined }, onReply);
        else service.handle(request as never, onReply);
        this.#depth -= 1;
        return 'ok';
      },
    };
  }
}

function memoryStore(): MemoryStore {
  const values = new Map<PackedKey, Uint8Array>();
  return {
    inMemory: (key) => values.get(key),
    tryRead: (key, done) => {
      done(undefined, values.get(key));
      return 'ok';
    },
    tryReadDoubted: () => 'closed',
    keepDoubt: () => undefined,
    keepsDoubt: () => false,
    hasNewest: () => true,
    tryWrite: (batch, done) => {
      for (const { key, value } of batch) {
        if (value === undefined) values.delete(key);
        else values.set(key, new Uint8Array(value));
      }
      queueMicrotask(() => done(undefined));
      return 'ok';
    },
  };
}

function makeMachines(wires: Wires): Ring {
  const names = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'];
  const members = names.map((node, index): Member => {
    const rack = `r${(index % 3) + 1}`;
    return { node: node as NodeId, datacenter: 'dc1', rack, tokens: tokensOfNode(node as NodeId, 16) };
  });
  const ring = new Ring(members);
  const clock = {
    nowUs: () => performance.now() * 1000,
    wallMs: () => 1_800_000_000_000,
    after: () => ({ cancel: () => undefined }),
  };
  const rules = (): typeof defaultProperties => defaultProperties;
  for (const self of ring.members) {
    const replica = new Replica(memoryStore(), clock, byteStringOf(self.node) as Actor, rules);
    const view = {
      self,
      rackCount: (datacenter: string) => ring.rackCount(datacenter),
      isRoutable: () => true,
      isStandby: () => false,
    };
    const parts: RoundDependencies = {
      self,
      ring: () => ring,
      pending: () => [],
      handedOver: () => true,
      isFormer: () => false,
      notReadyReason: () => undefined,
      unread: () => false,
      diskFull: () => false,
      member: (node) => ring.member(node),
      plane: wires.links(),
      queueFull: () => false,
      reads: () => false,
      replica,
      readBudget: new ReadBudget({ enabled: () => false, event: () => undefined }, 2 ** 28),
      spread: new ReadSpread(self, { hedgeMs: 20, repairPercent: 10 }),
      stats: new NodeStats(),
      clock,
      settings,
      view,
      readView: view,
      rules,
      router: new Router(rules, noCustomRoute),
      hints: undefined,
      ownLife: () => 1,
      lifeOf: () => 1,
      peerIndex: () => 0,
    };
    const dispatcher = new ClusterDispatcher(parts);
    const io = { spawn: (_name: string, task: () => Promise<void>) => void task().catch(fail) } as Pick<
      Io,
      'spawn'
    >;
    wires.machines.set(self.node, {
      dispatcher,
      service: new PeerService(io as Io, replica, dispatcher, settings, { learn: () => [] }, () => 1),
    });
  }
  return ring;
}

/** A failed task ends the measurement. */
function fail(error: unknown): never {
  throw error;
}

async function measureRequests(rounds: number): Promise<readonly RequestFigures[]> {
  const wires = new Wires();
  const ring = makeMachines(wires);
  const keys = Array.from({ length: keyCount }, (_, index) =>
    objectKey(defaultType, byteStringOf('b'), byteStringOf(`k${index}`)),
  );
  const content = plainContent(Buffer.alloc(valueBytes, 7), 'text/plain');
  const located = keys.map((key) => {
    const { nodes } = present(wires.machines.get('n1' as NodeId), 'n1').dispatcher.locate(key);
    const stranger = present(
      ring.members.find(({ node }) => !nodes.includes(node)),
      'a node without the key',
    );
    return { key, replica: present(nodes[0], 'a replica'), stranger: stranger.node };
  });
  const at = (node: NodeId): ClusterDispatcher => present(wires.machines.get(node), 'a node').dispatcher;
  const put = async (node: NodeId, key: (typeof keys)[number]): Promise<void> => {
    await at(node).put({ key, need: 'default', context: emptyVector, content });
  };
  const get = async (node: NodeId, key: (typeof keys)[number]): Promise<void> => {
    await at(node).get({ key, need: 'default' });
  };
  const ways: readonly (readonly [string, (index: number) => Promise<void>])[] = [
    ['put at a replica', (index) => withKey(located, index, ({ key, replica }) => put(replica, key))],
    ['put elsewhere', (index) => withKey(located, index, ({ key, stranger }) => put(stranger, key))],
    ['get at a replica', (index) => withKey(located, index, ({ key, replica }) => get(replica, key))],
    ['get elsewhere', (index) => withKey(located, index, ({ key, stranger }) => get(stranger, key))],
  ];
  const taken = new Map<string, number[]>();
  const figures = new Map<string, Omit<RequestFigures, 'cpuUs'>>();
  // One additional round warms up; the ways alternate.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, way] of ways) {
      wires.asked = 0;
      wires.hops = 0;
      const begun = process.cpuUsage();
      for (let index = 0; index < requestCount; index++) await way(index);
      const { user, system } = process.cpuUsage(begun);
      if (round > 0) taken.set(name, [...(taken.get(name) ?? []), (user + system) / requestCount]);
      figures.set(name, { name, peersAsked: wires.asked / requestCount, hops: wires.hops });
    }
  }
  return [...figures.values()].map((one) => ({ ...one, cpuUs: median(taken.get(one.name) ?? []) }));
}

function withKey<T>(items: readonly T[], index: number, act: (item: T) => Promise<void>): Promise<void> {
  return act(present(items[index % items.length], 'a key'));
}

function requestTable(requests: readonly RequestFigures[]): string {
  return table([
    ['quorum of 3, in memory', 'us of CPU', 'peers asked', 'hops'],
    ...requests.map(({ name, cpuUs, peersAsked, hops }) => [
      name,
      figure(cpuUs),
      figure(peersAsked),
      String(hops),
    ]),
  ]);
}
