/** What rounds of one node work with in tests. */
import { TestClock } from '../api/testing/test-io.fixture.ts';
import type { Clock } from '../io/clock.ts';
import { present } from '../base/assert.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { Epochs } from '../buckets/epochs.ts';
import type { BucketProperties } from '../buckets/properties.ts';
import { defaultProperties } from '../buckets/properties.ts';
import { Router } from '../buckets/router.ts';
import type { Member, Ring } from '../cluster/ring/ring.ts';
import { NodeStats } from '../metrics/node-stats.ts';
import type { MemoryStore } from '../replica/key-slots.ts';
import type { Actor } from '../replica/object/dots.ts';
import { Replica } from '../replica/replica.ts';
import type { PeerLinks } from './peer-links.ts';
import { ReadBudget } from './read-budget.ts';
import { ReadSpread } from './read-spread.ts';
import type { RoundDependencies } from './round-dependencies.ts';

/** The node, its links and its store. */
export interface TestNode {
  readonly self: Member;
  readonly ring: Ring;
  readonly plane: PeerLinks;
  readonly store: MemoryStore;
  readonly clock?: Clock;
  readonly properties?: BucketProperties;
}

/** A node of a ring that stands still, whose peers are all routable. `others` replaces what a test is about. */
export function roundPartsOf(node: TestNode, others: Partial<RoundDependencies> = {}): RoundDependencies {
  const { self, ring, plane, store, clock = new TestClock(), properties = defaultProperties } = node;
  const view = {
    self,
    rackCount: (datacenter: string) => ring.rackCount(datacenter),
    isRoutable: () => true,
    isStandby: () => false,
  };
  const rules = (): BucketProperties => properties;
  return {
    self,
    ring: () => ring,
    pending: () => [],
    handedOver: () => true,
    isFormer: () => false,
    notReadyReason: () => undefined,
    unread: () => false,
    diskFull: () => false,
    member: (name) => ring.member(name),
    plane,
    reads: () => true,
    queueFull: () => false,
    replica: new Replica(store, clock, byteStringOf(self.node) as Actor, rules),
    readBudget: new ReadBudget({ enabled: () => false, event: () => undefined }, 2 ** 20),
    spread: new ReadSpread(self, { hedgeMs: 0, repairPercent: 100 }),
    stats: new NodeStats(),
    clock,
    settings: { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', timeoutMs: 1000 },
    view,
    readView: view,
    rules,
    router: new Router(rules, undefined, new Epochs()),
    hints: undefined,
    ownLife: () => 1,
    lifeOf: () => 1,
    peerIndex: () => 1,
    ...others,
  };
}

/** Members in three racks. The fourth is in the rack of the first, and gets keys of the others by beginning to join. */
export const fourMembers = ['n1', 'n2', 'n3', 'n4'].map((node, index): Member => {
  return {
    node: node as NodeId,
    datacenter: 'dc1',
    rack: `r${index % 3}`,
    tokens: [(index * 1000) as Token],
  };
}) as [Member, Member, Member, Member];

/** Links to replicas whose answers to writes a test gives. */
export class HeldLinks implements PeerLinks {
  readonly #answers = new Map<NodeId, (isWritten: boolean) => void>();

  readonly request: PeerLinks['request'] = (peer, _request, _timeoutUs, onReply) => {
    this.#answers.set(peer, (isWritten) => {
      onReply(isWritten ? { kind: 'written' } : { kind: 'failed', code: 'PeerGone', detail: '' });
    });
    return 'ok';
  };

  /** The members that were asked, each once. */
  get asked(): readonly string[] {
    return [...this.#answers.keys()];
  }

  /** Answers the last request to the member, if there was one. */
  answer({ node }: Member, isWritten = true): void {
    this.#answers.get(node)?.(isWritten);
  }

  /** Answers the last request to the member so far, even after a later one. */
  answerOf({ node }: Member): (isWritten: boolean) => void {
    return present(this.#answers.get(node), 'a request to the member');
  }
}
