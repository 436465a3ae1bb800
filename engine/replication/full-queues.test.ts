/** Requests that full queues toward peers would refuse fail before anything is done, with a definite `Overloaded`. */
import { describe, expect, it } from 'vitest';

import type { SendOutcome } from '../base/channel.ts';
import { LockstepError } from '../base/errors.ts';
import { byteStringOf } from '../base/ids.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { Ring } from '../cluster/ring/ring.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import { tombstone } from '../replica/object/content.ts';
import { emptyVector } from '../replica/object/dots.ts';
import type { MemoryStore } from '../replica/key-slots.ts';
import { ClusterDispatcher } from './cluster-dispatcher.ts';
import type { PeerLinks, ReplyHandler } from './peer-links.ts';
import { nothingLost } from '../replica/replica-harness.fixture.ts';
import { roundPartsOf } from './round-parts.fixture.ts';

const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));

function member(node: string, rack: string): Member {
  return { node: node as NodeId, datacenter: 'dc', rack, tokens: [0 as Token] };
}

const ring = new Ring([member('n1', 'r1'), member('n2', 'r2'), member('n3', 'r3')]);

interface Trouble {
  readonly full?: readonly string[];
  readonly down?: readonly string[];
  /** Peers that are asked and answer with a failure. */
  readonly failing?: readonly string[];
}

/** A node whose links to its peers are as a test says. Its own store takes writes and fails reads. */
class Links implements PeerLinks {
  readonly asked: string[] = [];
  /** Writes passed to the node's own store. */
  writes = 0;
  readonly dispatcher: ClusterDispatcher;
  readonly #trouble: Trouble;

  constructor(self: string, trouble: Trouble) {
    this.#trouble = trouble;
    const own = ring.member(self as NodeId) ?? member(self, 'r1');
    const store: MemoryStore = {
      inMemory: () => undefined,
      tryRead: () => 'closed',
      tryReadDoubted: () => 'closed',
      ...nothingLost,
      tryWrite: () => {
        this.writes += 1;
        return 'ok';
      },
    };
    const queueFull = (peer: NodeId): boolean => trouble.full?.includes(peer) === true;
    this.dispatcher = new ClusterDispatcher(
      roundPartsOf({ self: own, ring, plane: this, store }, { queueFull }),
    );
  }

  request(peer: NodeId, request: PeerRequest, _timeoutUs: number, onReply: ReplyHandler): SendOutcome {
    if (this.#trouble.full?.includes(peer) === true) return 'full';
    if (this.#trouble.down?.includes(peer) === true) return 'closed';
    this.asked.push(`${peer} ${request.kind}`);
    if (this.#trouble.failing?.includes(peer) === true) {
      const reply: PeerReply = { kind: 'failed', code: 'StorageFailed', detail: `${peer} is broken` };
      queueMicrotask(() => onReply(reply));
    }
    return 'ok';
  }

  put(): Promise<string> {
    return outcomeOf(
      this.dispatcher.put({
        key,
        need: 'default',
        context: emptyVector,
        content: tombstone,
        timeoutMs: 1000,
      }),
    );
  }

  get(): Promise<string> {
    return outcomeOf(this.dispatcher.get({ key, need: 'default', timeoutMs: 1000 }));
  }
}

async function outcomeOf(request: Promise<unknown>): Promise<string> {
  try {
    await request;
    return 'done';
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    return `${error.code}, ${error.definite ? 'definite' : 'perhaps done'}: ${error.message}`;
  }
}

describe('a write whose replicas cannot be sent to, since the queues toward them are full', () => {
  it('is refused before it is written here or sent to any replica', async () => {
    const links = new Links('n1', { full: ['n2', 'n3'] });
    expect(await links.put()).toBe(
      'Overloaded, definite: the queues toward n2 and n3 are full; try again later',
    );
    expect([links.writes, links.asked]).toEqual([0, []]);
  });

  it('proceeds if the other replicas suffice', async () => {
    const links = new Links('n1', { full: ['n2'] });
    const put = links.put();
    await Promise.race([put, Promise.resolve()]);
    expect([links.writes, links.asked]).toEqual([1, ['n3 mergeObject']]);
  });

  it('is refused by a node without a replica that can forward it to none', async () => {
    expect(await new Links('n9', { full: ['n1', 'n2', 'n3'] }).put()).toMatch(/^Overloaded, definite: /);
    expect(await new Links('n9', { full: ['n1'], down: ['n2', 'n3'] }).put()).toMatch(
      /^Overloaded, definite: /,
    );
    expect(await new Links('n9', { down: ['n1', 'n2', 'n3'] }).put()).toMatch(/^NoTargets, definite: /);
  });
});

describe('a read whose replicas cannot be asked, since the queues toward them are full', () => {
  it('is refused as Overloaded', async () => {
    const links = new Links('n9', { full: ['n1', 'n2', 'n3'] });
    expect(await links.get()).toBe(
      'Overloaded, definite: the queue toward n1 is full; try again later; the queue toward n2 is full; try again later',
    );
    expect(links.asked).toEqual([]);
  });

  it('names the answers of the replicas that were asked', async () => {
    const links = new Links('n9', { full: ['n1'], failing: ['n2', 'n3'] });
    expect(await links.get()).toMatch(
      /^NoQuorum, perhaps done: at most 1 of 2 in dc: .*n1 is full.*; n2 is broken$/,
    );
    expect(await new Links('n9', { failing: ['n1', 'n2', 'n3'] }).get()).toMatch(/^NoQuorum, perhaps done: /);
    expect(await new Links('n9', { down: ['n1', 'n2', 'n3'] }).get()).toMatch(/^NoQuorum, perhaps done: /);
  });
});
