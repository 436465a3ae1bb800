import { describe, expect, it } from 'vitest';

import { TestClock, TestLog } from '../../api/testing/test-io.fixture.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { Member } from '../../cluster/ring/ring.ts';
import { Ring } from '../../cluster/ring/ring.ts';
import { NodeStats } from '../../metrics/node-stats.ts';
import type { PeerReply, PeerRequest } from '../../peer/wire/messages.ts';
import { AppliedBranchCleanup } from './applied-branch-cleanup.ts';
import { makeXid } from '../formats/xid.fixture.ts';
import type { BranchPhase } from '../protocol/branch-protocol.ts';
import type { ReportedState } from '../formats/messages.ts';
import { decodeRequest, encodeReply } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

const nodes = ['n1', 'n2', 'n3', 'n4'] as [NodeId, NodeId, NodeId, NodeId];
const [n1, n2, n3, n4] = nodes;
const options = {
  inquiryIntervalUs: 250_000,
  readWaitUs: 0,
  retentionMs: 600_000,
  rememberedMax: 1,
  pageBytes: 65_536,
  pageItems: 1000,
};

/** n2, which has applied branches of transactions of n1, beside n3 and n4. */
class CleanupHarness {
  readonly asked: string[] = [];
  readonly released: Xid[] = [];
  /** Nodes that were members, and are none any more. */
  readonly over = new Set<NodeId>([n1]);
  readonly links = new Map<NodeId, ReportedState | 'closed' | 'failed'>();
  readonly branches;
  readonly #cleanup: AppliedBranchCleanup;
  readonly #clock = new TestClock();

  constructor(count: number, writers: readonly NodeId[] = [n1, n2, n3, n4], phase: BranchPhase = 'applied') {
    const order = {
      coordinator: n1,
      level: 'DC_QUORUM',
      clientId: '',
      clientDigest: byteStringOf(''),
      branches: writers.map((node) => ({ node, writes: true, life: 1 })),
      operations: [],
    } as const;
    this.branches = Array.from({ length: count }, (_, at) => {
      return { xid: makeXid(n1, '0123456789ab', at + 1), phase, order, askedUs: 0 };
    });
    const member = (node: NodeId): Member => ({
      node,
      datacenter: 'dc1',
      rack: 'r1',
      tokens: [nodes.indexOf(node) as Token],
    });
    const settings = { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', timeoutMs: 1000 } as const;
    const request = this.#request.bind(this);
    this.#cleanup = new AppliedBranchCleanup(
      {
        io: { clock: this.#clock, log: new TestLog(), spawn: (_name, task) => void task().catch(this.#fail) },
        parts: {
          self: member(n2),
          member,
          plane: { request },
          stats: new NodeStats(),
          peerIndex: () => 0,
          settings,
          ring: () => new Ring([n2, n3, n4].map(member)),
        },
        log: { decisionOf: () => Promise.reject(new Error('it coordinates nothing')) },
        options,
        lives: { isOver: (node) => this.over.has(node) },
      },
      { all: this.branches },
      {
        find: () => undefined,
        singles: { needs: () => false },
        remembered: { release: (xid) => void this.released.push(xid) },
        memory: { reachesBackToNameOf: () => true },
      },
    );
  }

  /** Passes so long that all branches are due, and lets what they ask be answered. */
  async pass(): Promise<void> {
    this.#clock.advance(5 * options.inquiryIntervalUs);
    this.#cleanup.tick();
    await new Promise((resolve) => setImmediate(resolve));
  }

  readonly #fail = (error: unknown): void => void this.asked.push(String(error));

  #request(
    node: NodeId,
    message: PeerRequest,
    _timeoutUs: number,
    reply: (reply: PeerReply) => void,
  ): 'ok' | 'closed' {
    if (message.kind !== 'transact') throw new Error(`asked for ${message.kind}`);
    const state = this.links.get(node) ?? 'committed';
    this.asked.push(`${node} ${decodeRequest(message.words).kind}`);
    if (state === 'closed') return 'closed';
    const failed = { kind: 'failed', code: 'Timeout', detail: 'no answer in time' } as const;
    const told = (said: ReportedState): PeerReply => ({
      kind: 'transacted',
      words: encodeReply({ kind: 'told', state: said }),
    });
    queueMicrotask(() => reply(state === 'failed' ? failed : told(state)));
    return 'ok';
  }
}

describe('an applied branch whose coordinator is no longer a member', () => {
  it.each(['committed', 'none', 'forgotten'] as const)(
    'goes once all other branches answer %s',
    async (state) => {
      const harness = new CleanupHarness(1);
      harness.links.set(n3, state);
      await harness.pass();
      expect(harness.asked).toEqual(['n3 status', 'n4 status']);
      expect(harness.released).toEqual([harness.branches[0]?.xid]);
    },
  );

  it.each(['undecided', 'closed', 'failed'] as const)(
    'stays while another branch answers %s, and asks again',
    async (state) => {
      const harness = new CleanupHarness(1);
      harness.links.set(n4, state);
      await harness.pass();
      expect(harness.released).toEqual([]);
      harness.links.set(n4, 'committed');
      await harness.pass();
      expect(harness.released).toEqual([harness.branches[0]?.xid]);
    },
  );

  it('asks no node that is no longer a member, and none at all if there was no other branch', async () => {
    const harness = new CleanupHarness(1);
    harness.over.add(n4);
    await harness.pass();
    expect(harness.asked).toEqual(['n3 status']);
    const lonely = new CleanupHarness(2, [n2]);
    await lonely.pass();
    expect(lonely.asked).toEqual([]);
    expect(lonely.released).toEqual(lonely.branches.map(({ xid }) => xid));
  });

  it('asks every member if its record is of an earlier build, and names no branch', async () => {
    const harness = new CleanupHarness(1, []);
    harness.links.set(n4, 'undecided');
    await harness.pass();
    expect(harness.asked).toEqual(['n3 status', 'n4 status']);
    expect(harness.released).toEqual([]);
    harness.links.set(n4, 'none');
    await harness.pass();
    expect(harness.released).toEqual([harness.branches[0]?.xid]);
  });

  it('asks a silent node once for all branches that wait', async () => {
    const harness = new CleanupHarness(3, [n2, n3]);
    harness.links.set(n3, 'failed');
    await harness.pass();
    expect(harness.asked).toEqual(['n3 status']);
    expect(harness.released).toEqual([]);
  });

  it('asks its coordinator alone while that is a member', async () => {
    const harness = new CleanupHarness(1);
    harness.over.clear();
    await harness.pass();
    expect(harness.asked).toEqual(['n1 needed']);
    expect(harness.released).toEqual([]);
  });
});

describe('an applied branch whose coordinator has lost its disk', () => {
  it('goes once that says so, and no other branch waits', async () => {
    const harness = new CleanupHarness(1);
    harness.over.clear();
    harness.links.set(n1, 'forgotten');
    harness.links.set(n3, 'undecided');
    await harness.pass();
    expect(harness.asked).toEqual(['n1 needed', 'n1 inquire', 'n3 status', 'n4 status']);
    expect(harness.released).toEqual([]);
    harness.links.set(n3, 'committed');
    await harness.pass();
    expect(harness.released).toEqual([harness.branches[0]?.xid]);
  });
});

describe('a branch that an operator rolled back', () => {
  const asked = async (phase: BranchPhase): Promise<readonly string[]> => {
    const harness = new CleanupHarness(1, [n1, n2], phase);
    harness.over.clear();
    await harness.pass();
    return harness.asked;
  };

  it('asks whether it is needed once it was compared with its coordinator’s commit, and not before', async () => {
    expect(await asked('heuristicMixed')).toEqual(['n1 needed']);
    expect(await asked('heuristicRolledBack')).toEqual([]);
  });
});
