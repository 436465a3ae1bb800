/**
 * Equations of membership metrics: a node's state transitions for each peer form a path, and its gauges equal the end
 * of the path.
 */
import type { CountedSample, IncarnationAccount } from './account.ts';
import type { Claim } from './claims.ts';
import { between, equal } from './claims.ts';
import type { Numbers } from './numbers.ts';

/** Peer states by their code in the metric (spec: peer_state_current). */
const states: readonly string[] = ['UNKNOWN', 'JOINING', 'NORMAL', 'STANDBY', 'DOWN', 'RESET', 'LEAVING'];
const routable: readonly string[] = ['JOINING', 'NORMAL'];

/** The claims about the membership metrics of one account. */
export function memberEquations(numbers: Numbers, account: IncarnationAccount): readonly Claim[] {
  const current = numbers.samples('peer_state_current');
  const up = current.filter(({ value }) => routable.includes(states[value] ?? '')).length;
  const ejects = ejectionsOf(numbers);
  const ejectedAt = numbers.poolGauge('peer_ejected_at');
  const settled = account.moment === 'settled';
  return [
    between('peers of peer_state_current', current.length, account.truth.peersMin, account.truth.peersMax),
    equal('svc_peer_state, up', numbers.sum('svc_peer_state', { state: 'up' }), up),
    equal('svc_peer_state, down', numbers.sum('svc_peer_state', { state: 'down' }), current.length - up),
    equal(
      'peers of gossip_phi_score_milli',
      numbers.samples('gossip_phi_score_milli').length,
      current.length,
    ),
    ...current.flatMap(({ labels, value }) => pathOf(numbers, labels['peer_idx'] ?? '', value)),
    ...moveEquations(numbers, account.truth.moves),
    ...(settled ? calmEquations(current, account.truth.peersDead) : []),
    equal('ring_changes_total', numbers.sum('ring_changes_total'), account.truth.ringChanges),
    // A later incarnation may have found the last ring on its disk.
    ...(settled && account.truth.moved && account.life === 1
      ? [between('ring_changes_total of a ring that changed', numbers.sum('ring_changes_total'), 1, Infinity)]
      : []),
    equal('peer_ejects', numbers.pool('peer_ejects'), ejects),
    equal('peer_ejected_at is there', ejectedAt > 0 ? 1 : 0, ejects > 0 ? 1 : 0),
    between('peer_forward_error', numbers.poolGauge('peer_forward_error'), 0, account.truth.peersMax),
  ];
}

/** Living nodes are NORMAL; nodes that died for good are not routable. */
function calmEquations(current: readonly CountedSample[], dead: number): readonly Claim[] {
  const normal = current.filter(({ value }) => states[value] === 'NORMAL').length;
  const away = current.filter(({ value }) => !routable.includes(states[value] ?? '')).length;
  return [
    equal('peers in NORMAL after the calm', normal, current.length - dead),
    equal('peers away after the calm', away, dead),
  ];
}

/** Each transition is counted as often as it was traced, and no other transition is counted. */
function moveEquations(numbers: Numbers, moves: IncarnationAccount['truth']['moves']): readonly Claim[] {
  const family = 'peer_state_transitions_total';
  const told = Object.entries(moves);
  const each = told.map(([move, count]) => {
    const [index, from, to] = move.split(' ');
    const labels = { peer_idx: Number(index), from_state: from ?? '', to_state: to ?? '' };
    return equal(`${family} of peer ${move}`, numbers.sum(family, labels), count);
  });
  const all = told.reduce((sum, [, count]) => sum + count, 0);
  return [equal(family, numbers.sum(family), all), ...each];
}

/**
 * For each state, the entries less the exits equal 1 if it is the current state, less 1 if it was the first (UNKNOWN).
 */
function pathOf(numbers: Numbers, peer: string | number, code: number): readonly Claim[] {
  const family = 'peer_state_transitions_total';
  const net = new Map<string, number>();
  const move = (state: string, by: number): void => void net.set(state, (net.get(state) ?? 0) + by);
  // A node has one sample per pair of states and peer: this loop visits them once.
  for (const { labels, value } of numbers.samples(family)) {
    if (value === 0 || labels['peer_idx'] !== peer) continue;
    move(String(labels['to_state']), value);
    move(String(labels['from_state']), -value);
  }
  return states.map((state, index) => {
    const truth = (index === code ? 1 : 0) - (index === 0 ? 1 : 0);
    return equal(`${family} of peer ${peer}: into less out of ${state}`, net.get(state) ?? 0, truth);
  });
}

/** A new incarnation passes through RESET at once, which ejects nothing. */
function ejectionsOf(numbers: Numbers): number {
  let count = 0;
  for (const { labels, value } of numbers.samples('peer_state_transitions_total')) {
    const from = String(labels['from_state']);
    const to = String(labels['to_state']);
    if (routable.includes(from) && !routable.includes(to) && to !== 'RESET') count += value;
  }
  return count;
}
