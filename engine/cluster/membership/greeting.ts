/**
 * Whether a node that greets may talk to this one, as far as the table of members tells. Pure.
 *
 * Let in: a member in its latest life or a later one, at the place where it is known; and a stranger that says it is
 * joining. A stranger that claims to be a member already is refused: nobody gave it its part of the ring. So is a member
 * that says it is joining: it has lost its disk, and if it began anew its keys would be its rack's meanwhile, of which
 * the others there have dropped what they gave it.
 */
import type { Token } from '../../base/ids.ts';
import type { Refusal, RefusalReason } from '../../peer/wire/greetings.ts';
import type { Hello } from '../../peer/wire/messages.ts';
import type { MemberRecord } from './member-record.ts';
import type { MemberTable } from './table.ts';

/**
 * Why the node is refused, or undefined. `rival`: another living process of its name is connected. `departing`: it has
 * left, and this node's disk does not say so yet; a refusal would tell it that it does.
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
        ? `node ${hello.node} is no member of this cluster; a new node starts with join: joining`
        : `node ${hello.node} has left this cluster, or was replaced; it joins again with join: joining and an empty data_dir`;
    return refusal('unknown', detail);
  }
  if (known !== undefined && isReborn(known, hello)) {
    const detail = `node ${hello.node} is a member already and has lost its disk, it seems; it starts with join: member, and is given its data again`;
    return refusal('identity', detail);
  }
  const stray = strayHeir(table, hello);
  if (stray !== undefined) return stray;
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
 * Those that the node should have: of the dead one that it replaces, or its own. Undefined where they are only configured
 * here: no node is to believe another's file more than its own.
 */
function tokensFor(hello: Hello, table: MemberTable): readonly Token[] | undefined {
  const known = table.record(hello.node);
  const isMember = known !== undefined && !known.left && known.state !== 'JOINING';
  const model = isMember ? known : deadOf(hello, table);
  return model === undefined || model.generation === 0 ? undefined : model.tokens;
}

/** Whom the node that greets is to replace, as far as that one is known. */
function deadOf({ joining, replaces }: Hello, table: MemberTable): MemberRecord | undefined {
  return joining && replaces !== undefined ? table.record(replaces) : undefined;
}

/** Another life of a node whose disk had to say that it is a member: that is durable before the others agree to it. */
function isReborn({ left, state, move, generation, epoch }: MemberRecord, hello: Hello): boolean {
  const joined = generation > 0 && !left && state !== 'JOINING' && move !== 'switching';
  return hello.joining && joined && epoch !== hello.epoch;
}

function placeDetail(
  fault: 'location' | 'tokens' | 'duplicateToken',
  hello: Hello,
  table: MemberTable,
): string {
  const there = `${hello.datacenter}/${hello.rack}`;
  const dead = deadOf(hello, table);
  if (dead !== undefined && fault !== 'duplicateToken') return heirDetail(fault, hello, dead);
  const known = table.record(hello.node);
  switch (fault) {
    case 'location':
      return `node ${hello.node} is in ${there}; expected in ${known?.datacenter ?? ''}/${known?.rack ?? ''}`;
    case 'tokens':
      return `node ${hello.node} has other tokens than the cluster knows it by; tokens move by leaving and joining`;
    case 'duplicateToken':
      return (
        lingering(hello, table) ??
        `node ${hello.node} has a token that another node of ${there} has; tokens must be distinct in a rack`
      );
  }
}

function heirDetail(
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

/** Who replaces somebody that nobody knows would wait for ever. */
function strayHeir(table: MemberTable, { node, joining, replaces }: Hello): Refusal | undefined {
  if (replaces === undefined || !joining) return undefined;
  if (replaces === table.self.node || table.record(replaces) !== undefined) return undefined;
  return refusal('tokens', `node ${node} replaces ${replaces}, which is no member of this cluster`);
}

/** A replacement that is too early: nobody is replaced while he may be alive. Undefined: it is no replacement. */
function lingering({ node, replaces }: Hello, table: MemberTable): string | undefined {
  if (replaces === undefined || table.record(replaces) === undefined) return undefined;
  const opinion = table.opinion(replaces);
  if (opinion === 'DOWN') return undefined;
  return `node ${node} replaces ${replaces}, which is ${opinion} here; it is let in once ${replaces} has been silent long enough to be DOWN`;
}

function refusal(reason: RefusalReason, detail: string): Refusal {
  return { kind: 'refusal', reason, detail };
}
