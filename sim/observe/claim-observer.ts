/**
 * Records from the wire which owners have answered a branch's claim of its idempotency key, and judges each vote to
 * commit by it (`exactly-once`). A retry under the same key meets the first attempt only if the majorities of both
 * overlap, for every object of the branch.
 *
 * Judged are branches that another node asked for: a node's requests to itself are not on the wire.
 */
import type { Token } from '../../engine/base/ids.ts';
import type { Ring } from '../../engine/cluster/ring/ring.ts';
import { decodeReply, decodeRequest } from '../../engine/peer/wire/codec.ts';
import type { Frame } from '../../engine/peer/wire/frames.ts';
import type { BranchRequest } from '../../engine/transactions/formats/messages.ts';
import {
  decodeReply as decodeBranchReply,
  decodeRequest as decodeBranchRequest,
} from '../../engine/transactions/formats/messages.ts';
import type { BadEvent } from '../check/report.ts';
import type { ClaimRecords } from '../check/transactions/claims.ts';

/** What a branch was asked to write. */
interface Asked {
  readonly tokens: readonly Token[];
  /** The ring that the node had when it was asked. */
  readonly ring: Ring;
}

/** Judges the votes of all nodes of a run. */
export class ClaimObserver {
  readonly #nowUs: () => number;
  readonly #ringOf: (node: string) => Ring;
  /** By node and transaction: the branches under an idempotency key. */
  readonly #asked = new Map<string, Asked>();
  /** By node and transaction: the other owners that know of the claim. */
  readonly #knowing = new Map<string, Set<string>>();
  readonly #bad: BadEvent[] = [];
  #compared = 0;

  constructor(nowUs: () => number, ringOf: (node: string) => Ring) {
    this.#nowUs = nowUs;
    this.#ringOf = ringOf;
  }

  get records(): ClaimRecords {
    return { compared: this.#compared, bad: this.#bad };
  }

  /** `node` has received a request about a transaction. */
  heard(node: string, frame: Frame): void {
    const request = branchRequestOf(frame);
    if (request?.kind !== 'prepare' && request?.kind !== 'commitAlone') return;
    const { clientId, operations } = request.order;
    if (clientId === '') return;
    const tokens = [...new Set(operations.map(({ token }) => token))];
    this.#asked.set(`${node} ${request.xid}`, { tokens, ring: this.#ringOf(node) });
  }

  /** The transaction for which the request claims an idempotency key; undefined for any other request. */
  claimIn(frame: Frame): string | undefined {
    const request = branchRequestOf(frame);
    return request?.kind === 'claim' ? request.xid : undefined;
  }

  /** `node` has received the answer of `owner` to its claim. */
  answered(node: string, owner: string, xid: string, frame: Frame): void {
    const reply = decodeReply(frame);
    // A node of an earlier build knows no claims, and answers so.
    const knows =
      reply.kind === 'transacted'
        ? decodeBranchReply(reply.words).kind === 'named'
        : reply.kind === 'failed' && reply.code === 'BadRequest';
    if (!knows) return;
    const branch = `${node} ${xid}`;
    this.#knowing.set(branch, (this.#knowing.get(branch) ?? new Set()).add(owner));
  }

  /** `node` votes to commit, or has applied the branch of a transaction that has no other. */
  promised(node: string, xid: string): void {
    const asked = this.#asked.get(`${node} ${xid}`);
    if (asked === undefined) return;
    this.#asked.delete(`${node} ${xid}`);
    const knowing = this.#knowing.get(`${node} ${xid}`) ?? new Set();
    // The ring may change while the node asks the owners.
    const rings = [asked.ring, this.#ringOf(node)];
    for (const token of asked.tokens) {
      this.#compared += 1;
      if (rings.some((ring) => isMajority(ring, token, node, knowing))) continue;
      const owners = nearOwners(asked.ring, token, node).join(' ');
      const who = knowing.size === 0 ? 'no other node' : [...knowing].join(' ');
      const text = `${node} promises to commit ${xid}, and of the owners ${owners} of one of its objects less than a majority knows of the claim: ${who} has answered it`;
      this.#bad.push({ atUs: this.#nowUs(), text });
    }
  }
}

function branchRequestOf(frame: Frame): BranchRequest | undefined {
  const request = decodeRequest(frame);
  return request.kind === 'transact' ? decodeBranchRequest(request.words) : undefined;
}

function isMajority(ring: Ring, token: Token, node: string, knowing: ReadonlySet<string>): boolean {
  const owners = nearOwners(ring, token, node);
  return owners.filter((owner) => owner === node || knowing.has(owner)).length * 2 > owners.length;
}

/** The owners in the node's datacenter; all of them if it has none. */
function nearOwners(ring: Ring, token: Token, node: string): readonly string[] {
  const datacenter = ring.members.find((member) => member.node === node)?.datacenter;
  const owners = ring.placement(token);
  const near = owners.filter((owner) => owner.datacenter === datacenter);
  return (near.length > 0 ? near : owners).map((owner) => owner.node);
}
