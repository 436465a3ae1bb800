/** When a deletion is forgotten: what the member that begins asks of the others, and what any of them answers. */
import { beforeEach, describe, expect, it } from 'vitest';

import { TestClock, TestLog, settle } from '../../api/testing/test-io.fixture.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import type { Content } from '../../replica/object/content.ts';
import { tombstone } from '../../replica/object/content.ts';
import type { Actor } from '../../replica/object/dots.ts';
import { emptyVector } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { applyWrite, encodeObject } from '../../replica/object/object.ts';
import type { Member } from '../../cluster/ring/ring.ts';
import { Ring } from '../../cluster/ring/ring.ts';
import { NodeStats } from '../../metrics/node-stats.ts';
import type { PeerRequest } from '../../peer/wire/messages.ts';
import type { PeerLinks, ReplyHandler } from '../peer-links.ts';
import type { Holding, ReapItem } from '../../replica/reap-messages.ts';
import {
  decodeHoldings,
  decodeReapQuestion,
  encodeHoldings,
  encodeReapQuestion,
  markOf,
} from '../../replica/reap-messages.ts';
import { Reaper } from './reaper.ts';

const token = 0 as Token;
const { packed: key } = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));
const intervalUs = 1_000_000;
const graceMs = 5000;

function member(node: string, rack: string): Member {
  return { node: node as NodeId, datacenter: 'd', rack, tokens: [token] };
}

const members = [member('a1', 'r1'), member('a2', 'r2'), member('a3', 'r3')];
const value: Content = { ...tombstone, tombstone: false };

/** A member, the first owner of the one key, whose peers answer as the test says. */
class Room implements PeerLinks {
  readonly clock = new TestClock();
  readonly reaper: Reaper;
  readonly away = new Set<string>();
  /** What each peer says it holds, from now on. */
  readonly holds = new Map<string, Holding>([
    ['a2', 'same'],
    ['a3', 'same'],
  ]);
  /** Every question since the last look. */
  #asked: string[] = [];
  #stored: (key: PackedKey, token: Token, object: StoredObject) => void = () => undefined;
  #bytes: Uint8Array | undefined;
  #counter = 0;
  oldestRequestUs: number | undefined;
  /** Of a task. */
  failure: unknown;

  constructor() {
    const ring = new Ring(members);
    const [self = member('', '')] = members;
    const parts = {
      self,
      ring: () => ring,
      pending: () => [],
      members: () => members,
      plane: this,
      stats: new NodeStats(),
      peerIndex: () => 1,
      view: { isRoutable: ({ node }: Member) => !this.away.has(node) },
      hints: undefined,
      oldestRequestUs: () => this.oldestRequestUs,
      keys: () => [],
      tokenOf: () => token,
      bytesOf: () => this.#bytes,
      io: {
        clock: this.clock,
        log: new TestLog(),
        spawn: (_: string, task: () => Promise<void>) => {
          task().catch((error: unknown) => (this.failure = error));
        },
      },
      replica: {
        watch: (stored: (key: PackedKey, token: Token, object: StoredObject) => void) => {
          this.#stored = stored;
        },
        hasForgotten: () => false,
        forget: ({ mark }: ReapItem, done: (gone: boolean) => void) => {
          const gone = this.#bytes !== undefined && markOf(this.#bytes) === mark;
          if (gone) this.#bytes = undefined;
          done(gone);
        },
      },
    };
    this.reaper = new Reaper(parts, { graceMs, intervalUs, timeoutUs: intervalUs });
    this.reaper.start();
  }

  get isThere(): boolean {
    return this.#bytes !== undefined;
  }

  get mark(): string {
    return this.#bytes === undefined ? '' : markOf(this.#bytes);
  }

  store(content: Content): void {
    this.#counter += 1;
    const dot = { actor: byteStringOf('a1') as Actor, counter: this.#counter };
    const object = applyWrite(undefined, emptyVector, content, dot, this.clock.wallMs());
    this.#bytes = encodeObject(object);
    this.#stored(key, token, object);
  }

  /** One interval after another; what was asked in them: `check a2 a3 0` says whom, and for how many seconds all agreed. */
  async rounds(count: number): Promise<readonly string[]> {
    for (let round = 0; round < count; round++) {
      this.clock.advance(intervalUs);
      await settle();
    }
    if (this.failure !== undefined) throw this.failure as Error;
    const asked = this.#asked;
    this.#asked = [];
    return asked;
  }

  request(peer: NodeId, request: PeerRequest, _timeoutUs: number, onReply: ReplyHandler): 'ok' {
    if (request.kind !== 'reap') throw new Error(`asked for ${request.kind}`);
    const { kind, agreedForUs, items } = decodeReapQuestion(request.words);
    this.#asked.push(`${kind} ${peer} ${agreedForUs / intervalUs}`);
    const holding = this.holds.get(peer) ?? 'nothing';
    onReply({ kind: 'reapAnswered', words: encodeHoldings(items.map(() => holding)) });
    return 'ok';
  }

  /** What this member answers to the question what it holds, which all held so long ago. */
  async answer(agreedForUs: number, mark = this.mark): Promise<readonly Holding[]> {
    let said: readonly Holding[] = [];
    const question = { kind: 'check', agreedForUs, items: [{ key, token, mark }] } as const;
    this.reaper.answer(encodeReapQuestion(question), (reply) => {
      if (reply.kind === 'reapAnswered') said = decodeHoldings(reply.words);
    });
    await settle();
    return said;
  }
}

const first = ['check a2 0', 'check a3 0'];
const second = ['check a2 1', 'check a3 1'];
const orders = ['forget a2 0', 'forget a3 0'];

describe('the member that begins', () => {
  let room: Room;

  beforeEach(async () => {
    room = new Room();
    room.store(tombstone);
    expect(await room.rounds(graceMs / 1000)).toEqual([]);
  });

  it('asks everybody twice, a round apart, and has it forgotten then', async () => {
    expect(await room.rounds(1)).toEqual(first);
    expect(room.isThere).toBe(true);
    expect(await room.rounds(1)).toEqual([...second, ...orders]);
    expect([room.isThere, room.reaper.reaped, room.reaper.known]).toEqual([false, 1, 0]);
    expect(await room.rounds(3)).toEqual([]);
  });

  it('asks nobody while one of them is away', async () => {
    room.away.add('a3');
    expect(await room.rounds(2)).toEqual([]);
    room.away.delete('a3');
    expect(await room.rounds(1)).toEqual(first);
    room.away.add('a2');
    expect(await room.rounds(1)).toEqual([]);
  });

  it('waits with the second question for what it asked of others itself before all agreed', async () => {
    room.oldestRequestUs = room.clock.nowUs();
    expect(await room.rounds(1)).toEqual(first);
    expect(await room.rounds(3)).toEqual([]);
    // Whoever is asked for something since is shown the deletion.
    room.oldestRequestUs = room.clock.nowUs();
    expect(await room.rounds(1)).toEqual(['check a2 4', 'check a3 4', ...orders]);
  });

  it('goes on with the second question when somebody is busy, and has nothing forgotten meanwhile', async () => {
    await room.rounds(1);
    room.holds.set('a3', 'busy');
    expect(await room.rounds(2)).toEqual([...second, 'check a2 2', 'check a3 2']);
    expect(room.isThere).toBe(true);
    room.holds.set('a3', 'same');
    expect(await room.rounds(1)).toEqual(['check a2 3', 'check a3 3', ...orders]);
  });

  it.each(['other', 'nothing'] as const)('begins anew when an owner holds %s', async (holding) => {
    await room.rounds(1);
    room.holds.set('a2', holding);
    expect(await room.rounds(2)).toEqual([...second, ...first]);
    room.holds.set('a2', 'same');
    expect(await room.rounds(2)).toEqual([...first, ...second, ...orders]);
  });

  it('begins anew for a later deletion, and not at all for a value', async () => {
    await room.rounds(1);
    room.store(value);
    expect(await room.rounds(4)).toEqual([]);
    room.clock.aheadMs = 60_000;
    room.store(tombstone);
    expect(await room.rounds(graceMs / 1000)).toEqual([]);
    expect(await room.rounds(2)).toEqual([...first, ...second, ...orders]);
  });
});

describe('a member that is asked', () => {
  it('is busy for the second question while it waits for something from before all agreed', async () => {
    const room = new Room();
    room.store(tombstone);
    await room.rounds(3);
    expect(await room.answer(intervalUs)).toEqual(['same']);
    room.oldestRequestUs = room.clock.nowUs() - 2 * intervalUs;
    expect(await room.answer(intervalUs)).toEqual(['busy']);
    expect(await room.answer(3 * intervalUs)).toEqual(['same']);
    // The first question asks what is there, and another object stands against it whatever is under way.
    expect(await room.answer(0)).toEqual(['same']);
    expect(await room.answer(intervalUs, 'of another one')).toEqual(['other']);
  });
});
