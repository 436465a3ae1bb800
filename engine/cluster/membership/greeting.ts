/**
 * Decides by the member table whether a node that greets may connect. Pure.
 *
 * Admitted: a member in its latest incarnation or a later one, at the place where it is known; and an unknown node that
 * declares that it is joining. Refused: an unknown node that claims to be a member, since no ring change gave it its
 * part of the ring. Also refused: a member that declares that it is joining. It has lost its disk. If it began again,
 * the others in its rack would own its keys meanwhile, and they have dropped what they once gave it. And a member with
 * an empty disk on another machine than before.
 */
import type { Token } from '../../base/ids.ts';
import type { Refusal, RefusalReason } from '../../peer/wire/greetings.ts';
import type { Hello } from '../../peer/wire/messages.ts';
import type { MemberRecord } from './member-record.ts';
import type { MemberTable } from './table.ts';

/**
 * Why the node is refused; undefined if it is admitted. `rival`: another living process of its name is connected.
 * `departing`: the node has left, and this node's disk does not have that yet. A refusal would tell the node that it
 * does.
 */
export function judgeGreeting(
  table: MemberTable,
  hello: Hello,
  rival: boolean,
  departing = false,
): Refusal | undefined {
  const known = table.record(hello.node);
  if ((known === undefined || (known.left && !departing)) && !hello.joining) {
    const detail =
      known === undefined
        ? `node ${hello.node} is not a member of this cluster; a new node starts with join: joining`
        : `node ${hello.node} has left this cluster, or was replaced; it joins again with join: joining and an empty data_dir`;
    return refusal('unknown', detail);
  }
  if (known === undefined && !table.hasRoom) {
    const detail = `this cluster has had too many nodes of different names; a new node may have the name of one that has left, or waits until every member is reachable, and one that has left can be forgotten`;
    return refusal('unknown', detail);
  }
  if (known !== undefined && isReborn(known, hello)) {
    const detail = `node ${hello.node} is a member already and has lost its disk, it seems; it starts with join: member, and is given its data again`;
    return refusal('identity', detail);
  }
  if (known !== undefined && isElsewhere(known, hello)) {
    const detail = `node ${hello.node} is a member on another machine (${known.address}), and this process at ${hello.blankAt ?? ''} has an empty disk; that machine may be alive and cut off. If it is gone for good, start a node with another name and replace: ${hello.node}`;
    return refusal('sameName', detail);
  }
  const unknown = unknownDead(table, hello);
  if (unknown !== undefined) return unknown;
  const fault = table.placeFault(hello);
  if (fault !== undefined) {
    const tokens = fault === 'tokens' ? tokensFor(hello, table) : undefined;
    return {
      ...refusal(fault, placeDetail(fault, hello, table)),
      ...(tokens === undefined ? {} : { tokens }),
    };
  }
  if (rival) return refusal('sameName', `another process has the name ${hello.node} and is connected`);
  if (known === undefined || known.epoch === hello.epoch || hello.generation > known.generation)
    return undefined;
  const detail = `node ${hello.node} is in its life ${hello.generation}; its life ${known.generation} has been seen`;
  return { ...refusal('oldLife', detail), generation: known.generation };
}

/**
 * The tokens that the node should have: those of the dead node that it replaces, or its own. Undefined if this node
 * knows them by its configuration only: a node must not trust another's configuration more than its own.
 */
function tokensFor(hello: Hello, table: MemberTable): readonly Token[] | undefined {
  const known = table.record(hello.node);
  const isMember = known !== undefined && !known.left && known.state !== 'JOINING';
  const model = isMember ? known : deadOf(hello, table);
  return model === undefined || model.generation === 0 ? undefined : model.tokens;
}

/** The record of the node that the greeting node replaces; undefined if it replaces none or that one is unknown. */
function deadOf({ joining, replaces }: Hello, table: MemberTable): MemberRecord | undefined {
  return joining && replaces !== undefined ? table.record(replaces) : undefined;
}

/**
 * True if another incarnation of a member declares that it is joining. Its disk had to say that it is a member: that
 * was durable before the others agreed to it.
 */
function isReborn({ left, state, move, generation, epoch }: MemberRecord, hello: Hello): boolean {
  const joined = generation > 0 && !left && state !== 'JOINING' && move !== 'switching';
  return hello.joining && joined && epoch !== hello.epoch;
}

/**
 * True if a process with an empty disk claims the name of a member that was last reached on another machine. Nothing
 * proves that it is the member, which may be alive and cut off: writes that the process acknowledged would count as that
 * replica's. A member that moves keeps its disk, and one that has lost its disk returns where it was.
 */
function isElsewhere({ left, generation, address }: MemberRecord, { blankAt }: Hello): boolean {
  if (blankAt === undefined || left || generation === 0) return false;
  return hostOf(blankAt) !== hostOf(address);
}

/** The host of a `host:port`. */
function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':'));
}

function placeDetail(
  fault: 'location' | 'tokens' | 'duplicateToken',
  hello: Hello,
  table: MemberTable,
): string {
  const there = `${hello.datacenter}/${hello.rack}`;
  const dead = deadOf(hello, table);
  if (dead !== undefined && fault !== 'duplicateToken') return replacementDetail(fault, hello, dead);
  const known = table.record(hello.node);
  switch (fault) {
    case 'location':
      return `node ${hello.node} is in ${there}; expected in ${known?.datacenter ?? ''}/${known?.rack ?? ''}`;
    case 'tokens':
      return `node ${hello.node} has other tokens than the cluster knows it by; tokens move by leaving and joining`;
    case 'duplicateToken':
      return (
        earlyDetail(hello, table) ??
        `node ${hello.node} has a token that another node of ${there} has; tokens must be distinct in a rack`
      );
  }
}

function replacementDetail(
  fault: 'location' | 'tokens',
  { node, datacenter, rack }: Hello,
  dead: MemberRecord,
): string {
  const what = `node ${node} replaces ${dead.node}`;
  if (fault === 'location')
    return `${what} and is in ${datacenter}/${rack}; a replacement stands where that one stood, in ${dead.datacenter}/${dead.rack}`;
  const remedy =
    dead.generation > 0
      ? 'it is told which it takes over, and is to start anew with them'
      : `name ${dead.node} among its seeds, with its tokens where they do not follow from its name`;
  return `${what} and has other tokens; ${remedy}`;
}

/** A node that replaces an unknown node would wait forever, so it is refused. */
function unknownDead(table: MemberTable, { node, joining, replaces }: Hello): Refusal | undefined {
  if (replaces === undefined || !joining) return undefined;
  if (replaces === table.self.node || table.record(replaces) !== undefined) return undefined;
  return refusal('tokens', `node ${node} replaces ${replaces}, which is not a member of this cluster`);
}

/**
 * The reason against an early replacement: a node is replaced only once it is DOWN. Undefined if the node is no
 * replacement, or may proceed.
 */
function earlyDetail({ node, replaces }: Hello, table: MemberTable): string | undefined {
  if (replaces === undefined || table.record(replaces) === undefined) return undefined;
  const opinion = table.opinion(replaces);
  if (opinion === 'DOWN') return undefined;
  return `node ${node} replaces ${replaces}, which is ${opinion} here; it is let in once ${replaces} has been silent long enough to be DOWN`;
}

function refusal(reason: RefusalReason, detail: string): Refusal {
  return { kind: 'refusal', reason, detail };
}
