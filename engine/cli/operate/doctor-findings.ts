/**
 * Finds what is wrong with a cluster in its nodes' answers, and states for each finding what the operator does next. Pure.
 */
import type { ClusterView } from '../../node/node.ts';
import { unconnectedIn } from './cluster-view.ts';
import type { InDoubt } from './in-doubt.ts';

/** What one node answered, or why it could not be asked. */
export interface Examined {
  readonly address: string;
  readonly error?: string;
  readonly view?: ClusterView;
  readonly inDoubt?: readonly InDoubt[];
  readonly version?: string;
  /** How far its clock is ahead of this machine's, in milliseconds, to about a second. */
  readonly clockAheadMs?: number;
  /** Days until its certificate for clients ends; absent without TLS. */
  readonly certificateDays?: number;
}

/** `wrong`: the cluster serves less than it should, or soon will. `watch`: it may become wrong. */
export type Severity = 'wrong' | 'watch';

/** One finding. */
export interface Finding {
  readonly severity: Severity;
  /** A node, or `cluster`. */
  readonly about: string;
  readonly problem: string;
  readonly advice: string;
}

const clockApartMs = 3000;
const certificateDaysMin = 14;
const inDoubtMsMin = 60_000;
const heldSecondsMin = 60;
/** A node with this many times the share of an equal split of its rack. */
const lopsidedFactor = 1.6;

/** All findings, the wrong ones first. */
export function findingsOf(examined: readonly Examined[]): readonly Finding[] {
  const all = [...examined.flatMap(ofNode), ...ofCluster(examined)];
  return [...all.filter(isWrong), ...all.filter((one) => !isWrong(one))];
}

function isWrong({ severity }: Finding): boolean {
  return severity === 'wrong';
}

function ofNode(node: Examined): readonly Finding[] {
  const { address, error, view, inDoubt = [], certificateDays: days } = node;
  if (view === undefined) {
    const advice = 'start it, or check the address, the token and --ca';
    return [{ severity: 'wrong', about: address, problem: error ?? 'no answer', advice }];
  }
  const about = view.node;
  const found: Finding[] = [];
  const say = (severity: Severity, problem: string, advice: string): void =>
    void found.push({ severity, about, problem, advice });
  if (view.store !== 'open')
    say(
      'wrong',
      `its store is ${view.store} and takes no writes`,
      'read its log: free space on a full disk, or replace the disk and restart the node',
    );
  if (view.hint_store === 'failed')
    say(
      'wrong',
      'its hint store is failed: it keeps no writes for others that miss them',
      'read its log: free space on a full disk, or replace the disk, and restart the node',
    );
  const old = inDoubt.filter(({ age_ms: age }) => age >= inDoubtMsMin);
  if (old.length > 0)
    say(
      'wrong',
      `${old.length} transactions are in doubt for more than a minute, first ${old[0]?.transaction_id ?? ''}`,
      'bring back the nodes that they wait for; if one is gone for good: lockstep transactions list, then resolve',
    );
  if (view.held.seconds >= heldSecondsMin)
    say(
      'wrong',
      `a changed ring waits for ${view.held.seconds} s because of ${view.held.transactions.join(', ')}`,
      'see these transactions: lockstep transactions list',
    );
  for (const { node: peer, reason, detail } of view.refused ?? [])
    say('wrong', `it and ${peer} do not connect: ${detail}`, adviceOn(reason));
  const unconnected = unconnectedIn(view);
  if (unconnected.length > 0)
    say(
      'watch',
      `it has no connection to ${unconnected.join(', ')} at present`,
      'ask again in some seconds; if that stays, see whether it runs and whether its peer listener can be reached',
    );
  const { ranges_left: left, waits_for: waits } = view.transfer;
  if (left > 0 || waits.members.length > 0)
    say(
      'watch',
      `${left} ranges are to move${waits.members.length > 0 ? `; it waits for ${waits.members.join(', ')}` : ''}`,
      'wait; if a member that it waits for is dead for good, replace it',
    );
  if (days !== undefined && days < certificateDaysMin)
    say(
      days < 1 ? 'wrong' : 'watch',
      `its certificate ends in ${Math.floor(days)} days`,
      'renew it, then kill -HUP the node',
    );
  return found;
}

/** What an operator does about two members of which one refuses the other, by the reason's word. */
function adviceOn(reason: string): string {
  const known: Readonly<Record<string, string>> = {
    version:
      'start one of the two with a build that has a version of peer messages in common with all others',
    cluster: 'one of them belongs to another cluster: see cluster_id in both configuration files',
    location: 'see datacenter and rack of that node in both configuration files',
  };
  return known[reason] ?? 'see the log event peer.link.refused of both nodes';
}

function ofCluster(examined: readonly Examined[]): readonly Finding[] {
  const asked = examined.flatMap((one) => (one.view === undefined ? [] : [{ ...one, view: one.view }]));
  const [first] = asked;
  if (first === undefined) return [];
  const found: Finding[] = [];
  const say = (severity: Severity, about: string, problem: string, advice: string): void =>
    void found.push({ severity, about, problem, advice });
  for (const { node, state } of first.view.members) {
    if (state === 'DOWN')
      say(
        'wrong',
        node,
        `${first.view.node} has not heard it for a while`,
        'restart it; if it is gone for good, replace it (join: joining, replace)',
      );
    if (state === 'STANDBY')
      say('watch', node, 'an operator has put it in STANDBY', 'lockstep standby --return ends it');
    if (!asked.some(({ view }) => view.node === node) && state !== 'DOWN')
      if (asked.length < examined.length)
        say('watch', node, 'it is a member, and no answer is its', 'see the addresses that do not answer');
      else say('watch', node, 'it is a member and was not asked', 'name its address, too');
  }
  const views = new Set(asked.map(({ view }) => view.view));
  if (views.size > 1)
    say(
      'wrong',
      'cluster',
      `the nodes have ${views.size} different ring views`,
      'wait for a ring change to end; if it stays, a partition or a held ring: see the nodes above',
    );
  const versions = new Set(asked.flatMap(({ version }) => version ?? []));
  if (versions.size > 1)
    say(
      'watch',
      'cluster',
      `versions are mixed: ${[...versions].sort().join(', ')}`,
      'end the upgrade: some operations must wait until every node has one version',
    );
  for (const { view, clockAheadMs: ahead = 0 } of asked)
    if (Math.abs(ahead) > clockApartMs)
      say(
        'wrong',
        view.node,
        `its clock is ${Math.abs(ahead / 1000).toFixed(0)} s ${ahead > 0 ? 'ahead of' : 'behind'} this machine's`,
        'run NTP on both',
      );
  return [...found, ...ofRacks(first.view)];
}

/** Racks of one datacenter hold the same keys, so their nodes should be as many, with equal shares. */
function ofRacks({ members }: ClusterView): readonly Finding[] {
  const found: Finding[] = [];
  const owners = members.filter(({ owns }) => owns);
  for (const datacenter of new Set(owners.map((one) => one.datacenter))) {
    const here = owners.filter((one) => one.datacenter === datacenter);
    const racks = [...new Set(here.map(({ rack }) => rack))].sort();
    const counts = racks.map((rack) => here.filter((one) => one.rack === rack).length);
    if (racks.length < 3)
      found.push({
        severity: 'watch',
        about: datacenter,
        problem: `${racks.length} racks, so ${racks.length} copies: a quorum does not survive the loss of one`,
        advice: 'add racks: three are usual',
      });
    if (Math.max(...counts) > Math.min(...counts) + 1)
      found.push({
        severity: 'watch',
        about: datacenter,
        problem: `its racks have ${counts.join(', ')} nodes (${racks.join(', ')}): the nodes of the small ones carry more`,
        advice: 'let new nodes join the small racks',
      });
    for (const rack of racks) {
      const inRack = here.filter((one) => one.rack === rack);
      const fair = 100_000 / inRack.length;
      for (const { node, share } of inRack)
        if (inRack.length > 1 && share > fair * lopsidedFactor)
          found.push({
            severity: 'watch',
            about: node,
            problem: `it owns ${(share / 1000).toFixed(1)} % of its rack of ${inRack.length} nodes`,
            advice: 'give it fewer tokens, or let it leave and join with more of them (num_tokens)',
          });
    }
  }
  return found;
}
