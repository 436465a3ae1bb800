/** What replicas repaired, what is kept for replicas that missed it, and what the store holds. */
import type { ConsoleOverview } from '../api/http/console-answers.ts';
import { facts, h, table } from './dom.ts';
import { bytesText, countText, timeText } from './numbers.ts';

/** Anti-entropy as `GET /aae` shows it. */
interface AntiEntropyState {
  readonly segments: number;
  readonly dirty_segments: number;
  readonly sweep: string;
  readonly peers: readonly {
    readonly peer: string;
    readonly dc: string;
    readonly rack: string;
    readonly dirty_segments: number;
    readonly last_sweep_seconds: number;
    readonly last_exchange_seconds: number;
    readonly last_exchange_outcome: string;
    readonly divergent_keys_found: number;
  }[];
}

/** The counts of repairs and hints, and anti-entropy peer by peer. */
export function repairsList({
  cluster,
  counts,
  anti_entropy: state,
}: ConsoleOverview): readonly HTMLElement[] {
  const of = (name: string): string => countText(counts[name] ?? 0);
  const hints =
    counts['svc_hints_kept'] === undefined
      ? 'hinted handoff is off'
      : `${of('svc_hints_kept')} (${bytesText(counts['svc_hints_kept_bytes'] ?? 0)})`;
  const failed = cluster.hint_store === 'failed' ? '; their store has failed: restart this node' : '';
  const list = facts([
    ['Hints kept now', hints + failed],
    ['Hints delivered', `${of('svc_hints_total.delivered')} of ${of('svc_hints_total.stored')} stored`],
    [
      'Hints expired or dropped',
      countText((counts['svc_hints_total.expired'] ?? 0) + (counts['svc_hints_total.dropped'] ?? 0)),
    ],
    [
      'Read repairs',
      `${of('svc_read_repairs_total.done')} done, ${of('svc_read_repairs_total.failed')} failed`,
    ],
    ['Keys found different', of('aae_exchange_divergent_keys_total')],
    ['Repairs of anti-entropy', of('aae_repair_dispatched_total')],
    ['Keys here', of('svc_store_keys')],
    [
      'Disk',
      `${bytesText(counts['svc_store_disk_bytes'] ?? 0)}, of which ${bytesText(counts['svc_store_live_bytes'] ?? 0)} live`,
    ],
  ]);
  if (state === null) return [list, h('p', {}, 'Anti-entropy is off on this node.')];
  return [h('div', { class: 'beside' }, list, h('div', {}, ...antiEntropyTable(state as AntiEntropyState)))];
}

function antiEntropyTable({
  peers,
  sweep,
  segments,
  dirty_segments: dirty,
}: AntiEntropyState): HTMLElement[] {
  const time = (seconds: number): string => (seconds === 0 ? 'never' : timeText(seconds * 1000));
  const rows = peers.map((peer) => [
    peer.peer,
    time(peer.last_exchange_seconds),
    peer.last_exchange_outcome,
    time(peer.last_sweep_seconds),
    countText(peer.divergent_keys_found),
  ]);
  const heads = ['Peer', 'Last exchange', 'Outcome', 'Last full sweep', 'Keys found different'];
  const line = `${countText(dirty)} of ${countText(segments)} segments wait for an exchange; full sweep: ${sweep}.`;
  return [h('p', {}, line), table('Anti-entropy, peer by peer', heads, rows)];
}
