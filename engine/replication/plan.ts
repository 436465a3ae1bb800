/**
 * Plans a request: which replicas get it and whose answers it waits for. A pure decision from the placement, the
 * consistency level and which members are routable now.
 *
 * A plan lists its targets and, per group (one datacenter), how many of them must succeed. Majorities count the racks
 * configured for the datacenter, never only those that are reachable.
 */
import { present } from '../base/assert.ts';
import type { Placement } from '../cluster/ring/ring.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { ConsistencyLevel, Need, ReadNeed, WriteNeed } from './requests.ts';

const nobody: readonly Member[] = [];

/** One datacenter whose answers are counted together. */
export interface Group {
  readonly datacenter: string;
  /** Successes needed; 1 or more. */
  readonly needed: number;
}

/** One replica of a plan. */
export interface Target {
  readonly member: Member;
  /** Index of the target's group; -1: the replica is sent the write, but not waited for. */
  readonly group: number;
  /** The target is asked only if an earlier one of its datacenter does not answer. */
  readonly held?: boolean;
}

/** The datacenters in which a write is counted. */
export interface Counted {
  /** The local datacenter: that of the node that the client asked. This node's own if absent. */
  readonly local?: string;
  /** A further datacenter of which a majority must have the write. */
  readonly beside?: string;
}

/** Which replicas get a request, and whose answers it waits for. */
export interface DispatchPlan {
  readonly kind: 'plan';
  readonly targets: readonly Target[];
  readonly groups: readonly Group[];
  /** The counted answers must be equal byte for byte. */
  readonly agree: boolean;
  /** Targets in other datacenters that replace an unroutable preferred replica. */
  readonly failovers: number;
}

/** Too few routable members hold the key. The request is refused before anything is sent. */
export interface Refusal {
  readonly kind: 'refused';
  readonly code: 'NoTargets' | 'NoQuorum' | 'BadRequest';
  readonly detail: string;
  /** Routable replicas, and how many of them the level needs. */
  readonly votes?: { readonly got: number; readonly needed: number };
}

/** The deciding node's view of the cluster. */
export interface Viewpoint {
  readonly self: Member;
  /** Racks configured in the datacenter. */
  rackCount(datacenter: string): number;
  isRoutable(member: Member): boolean;
  /** Whether the member is in STANDBY: it takes writes, and is read only if too few others are left. */
  isStandby(member: Member): boolean;
}

/**
 * Plans a read. DC_ONE asks the nearest replica only. The other levels ask every routable replica of this datacenter.
 * In another datacenter they ask only as many replicas as must answer, in the key's order of preference, since crossing
 * datacenters is expensive; further ones are held back until one of those fails. A replica in STANDBY comes after all
 * others of its datacenter, and is held back if these suffice.
 */
export function planRead(
  view: Viewpoint,
  placement: Placement,
  level: ConsistencyLevel,
  need: ReadNeed,
): DispatchPlan | Refusal {
  if (need === 'primary') return planPrimary(view, placement);
  const groups = groupsOf(view, placement, level, need);
  if ('kind' in groups) return groups;
  const one = groups.length === 1 && groups[0]?.needed === 1 && level === 'DC_ONE';
  const counted = thoseOf(targetsOf(view, placement, groups), (target) => target.group >= 0);
  const candidates = standbyLast(view, one ? nearest(view.self, counted) : counted, ({ member }) => member);
  const targets = one ? candidates.slice(0, 1) : heldBack(view, candidates, groups);
  const failovers = one ? 0 : standIns(view, placement, targets, groups);
  return checked(view, placement, { kind: 'plan', targets, groups, agree: agrees(level), failovers });
}

/** Plans a read of the primary: no other replica can answer for it. */
function planPrimary(view: Viewpoint, placement: Placement): DispatchPlan | Refusal {
  const member = present(placement[0], 'a primary');
  if (!view.isRoutable(member)) {
    return { kind: 'refused', code: 'NoTargets', detail: `the primary ${member.node} cannot be reached` };
  }
  const groups = [{ datacenter: member.datacenter, needed: 1 }];
  return { kind: 'plan', targets: [{ member, group: 0 }], groups, agree: false, failovers: 0 };
}

/**
 * Plans a write: every routable replica of every datacenter gets it, and the groups say whose durability it waits for.
 *
 * While owners change, the `pending` owners get the write too. Each raises the needed number of its datacenter by one,
 * so that as many owners as the level names hold the write both before and after the change (Cassandra's rule).
 * `counted`: the datacenters that the level refers to, if not this node's own.
 */
export function planWrite(
  view: Viewpoint,
  placement: Placement,
  level: ConsistencyLevel,
  need: WriteNeed,
  pending: readonly Member[] = nobody,
  counted: Counted = {},
): DispatchPlan | Refusal {
  const named = groupsOf(view, placement, level, need, counted);
  if ('kind' in named) return named;
  const groups = pending.length === 0 ? named : named.map((group) => raised(group, pending));
  const holders = pending.length === 0 ? placement : [...placement, ...pending];
  return checked(view, holders, {
    kind: 'plan',
    targets: targetsOf(view, holders, groups),
    groups,
    agree: false,
    failovers: 0,
  });
}

/**
 * Extends the plan of a write under way by `late` members, which have started to take over its key since. They count
 * like the pending owners of a new write. One that cannot be reached is a target that fails.
 */
export function withLate(plan: DispatchPlan, late: readonly Member[]): DispatchPlan {
  const groups = plan.groups.map((group) => raised(group, late));
  const added = late.map((member) => ({ member, group: groupOf(groups, member.datacenter) }));
  return { ...plan, groups, targets: [...plan.targets, ...added] };
}

/**
 * Replicas to which a node without a replica may forward a write: routable, of its datacenter, nearest first; those in
 * STANDBY after all others.
 */
export function planForward(view: Viewpoint, placement: Placement): readonly Member[] {
  const local = placement.filter(
    (member) => member.datacenter === view.self.datacenter && view.isRoutable(member),
  );
  const near = nearest(
    view.self,
    local.map((member) => ({ member, group: 0 })),
  ).map((target) => target.member);
  return standbyLast(view, near, (member) => member);
}

/** Moves the elements whose members are in STANDBY to the end, in order. Mostly none is, and then `all` is returned. */
export function standbyLast<T>(
  view: Pick<Viewpoint, 'isStandby'>,
  all: readonly T[],
  memberOf: (one: T) => Member,
): readonly T[] {
  const isLast = (one: T): boolean => view.isStandby(memberOf(one));
  return all.some(isLast) ? [...all.filter((one) => !isLast(one)), ...all.filter(isLast)] : all;
}

/** `n1* n2 (n3), wait for 2 of dc1` (star: not waited for; parentheses: held back). For logs and golden files. */
export function describePlan(plan: DispatchPlan | Refusal): string {
  if (plan.kind === 'refused') return `${plan.code}: ${plan.detail}`;
  const names = plan.targets.map((target) => nameOf(target));
  const waits = plan.groups.map((group) => `${group.needed} of ${group.datacenter}`);
  const standIns = plan.failovers === 0 ? '' : `, ${plan.failovers} standing in`;
  return `${names.join(' ')}, wait for ${waits.join(' and ')}${plan.agree ? ', equal' : ''}${standIns}`;
}

function nameOf({ member, group, held }: Target): string {
  if (held === true) return `(${member.node})`;
  return group < 0 ? `${member.node}*` : member.node;
}

/** Holds back the targets in STANDBY and those of other datacenters, beyond what their group needs. */
function heldBack(view: Viewpoint, targets: readonly Target[], groups: readonly Group[]): readonly Target[] {
  const isSpared = ({ member }: Target): boolean => view.isStandby(member);
  if (groups.length === 1 && !targets.some(isSpared)) return targets;
  const asked = groups.map(() => 0);
  return targets.map((target) => {
    const { datacenter, needed } = present(groups[target.group], 'a group');
    const isLocal = datacenter === view.self.datacenter;
    const before = present(asked[target.group], 'a count');
    asked[target.group] = before + 1;
    if (before < needed || (isLocal && !isSpared(target))) return target;
    return { ...target, held: true };
  });
}

/** How many targets in other datacenters are not among the racks that the key prefers there. */
function standIns(
  view: Viewpoint,
  placement: Placement,
  targets: readonly Target[],
  groups: readonly Group[],
): number {
  let count = 0;
  for (const { datacenter, needed } of groups) {
    if (datacenter === view.self.datacenter) continue;
    const preferred = placement.filter((member) => member.datacenter === datacenter).slice(0, needed);
    for (const { member, held } of targets) {
      if (member.datacenter === datacenter && held !== true && !preferred.includes(member)) count += 1;
    }
  }
  return count;
}

function raised({ datacenter, needed }: Group, pending: readonly Member[]): Group {
  const more = pending.filter((member) => member.datacenter === datacenter).length;
  return { datacenter, needed: needed + more };
}

function agrees(level: ConsistencyLevel): boolean {
  return level === 'DC_SAFE_QUORUM' || level === 'DC_EACH_SAFE_QUORUM';
}

function groupsOf(
  view: Viewpoint,
  placement: Placement,
  level: ConsistencyLevel,
  need: WriteNeed,
  { local = view.self.datacenter, beside }: Counted = {},
): readonly Group[] | Refusal {
  const groups = ownGroupsOf(view, placement, level, need, local);
  if ('kind' in groups || beside === undefined) return groups;
  const enough = majority(view.rackCount(beside));
  const known = groups.some(({ datacenter }) => datacenter === beside);
  if (!known) return [...groups, { datacenter: beside, needed: enough }];
  return groups.map((group) =>
    group.datacenter === beside && group.needed < enough ? { datacenter: beside, needed: enough } : group,
  );
}

/** The groups that the level or the number requires. */
function ownGroupsOf(
  view: Viewpoint,
  placement: Placement,
  level: ConsistencyLevel,
  need: WriteNeed,
  local: string,
): readonly Group[] | Refusal {
  if (need !== 'default') {
    const copies = view.rackCount(local);
    const needed = typeof need === 'object' ? need.atLeast : numberOf(need, copies);
    if (needed < 1 || needed > copies) {
      const detail = `${needed} replicas were asked for; ${local} has ${copies}, so 1 to ${copies} are allowed`;
      return { kind: 'refused', code: 'BadRequest', detail };
    }
    if (typeof need !== 'object') return [{ datacenter: local, needed }];
  }
  if (level === 'DC_ONE') return [{ datacenter: local, needed: 1 }];
  const names = level === 'DC_EACH_SAFE_QUORUM' ? datacentersOf(placement) : [local];
  return names.map((datacenter) => {
    const needed = majority(view.rackCount(datacenter));
    const least = typeof need === 'object' && datacenter === local ? need.atLeast : 0;
    return { datacenter, needed: Math.max(needed, least) };
  });
}

function numberOf(need: Exclude<Need, 'default'>, copies: number): number {
  if (need === 'one') return 1;
  if (need === 'quorum') return majority(copies);
  return need === 'all' ? copies : need;
}

function majority(count: number): number {
  return Math.floor(count / 2) + 1;
}

function datacentersOf(placement: Placement): readonly string[] {
  return [...new Set(placement.map((member) => member.datacenter))].sort();
}

function targetsOf(view: Viewpoint, placement: Placement, groups: readonly Group[]): readonly Target[] {
  const routable = thoseOf(placement, (member) => view.isRoutable(member));
  return routable.map((member) => ({ member, group: groupOf(groups, member.datacenter) }));
}

/** Filters `all`. Mostly every element matches, and then no new list is made. */
function thoseOf<T>(all: readonly T[], are: (one: T) => boolean): readonly T[] {
  return all.every(are) ? all : all.filter(are);
}

function groupOf(groups: readonly Group[], datacenter: string): number {
  for (let index = 0; index < groups.length; index++) {
    if (groups[index]?.datacenter === datacenter) return index;
  }
  return -1;
}

/** Sorts: this node, then its rack, then its datacenter, then the others; otherwise in placement order. */
function nearest(self: Member, targets: readonly Target[]): readonly Target[] {
  const distance = ({ member }: Target): number => {
    if (member.node === self.node) return 0;
    if (member.datacenter !== self.datacenter) return 3;
    return member.rack === self.rack ? 1 : 2;
  };
  return targets.toSorted((left, right) => distance(left) - distance(right));
}

function checked(view: Viewpoint, placement: Placement, plan: DispatchPlan): DispatchPlan | Refusal {
  for (let index = 0; index < plan.groups.length; index++) {
    const group = present(plan.groups[index], 'a group');
    let routable = 0;
    for (const target of plan.targets) if (target.group === index) routable += 1;
    if (routable >= group.needed) continue;
    const away = placement.filter(
      (member) => member.datacenter === group.datacenter && !view.isRoutable(member),
    );
    const missing = away.map((member) => member.node).join(', ') || 'none is configured';
    const detail = `${group.needed} replicas of ${group.datacenter} are needed and ${routable} can be reached (away: ${missing})`;
    const votes = { got: routable, needed: group.needed };
    return { kind: 'refused', code: routable === 0 ? 'NoTargets' : 'NoQuorum', detail, votes };
  }
  return plan;
}
