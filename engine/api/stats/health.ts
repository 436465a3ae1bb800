/**
 * Renders `/health/live` and `/health/ready`, for the probes of supervisors and load balancers. Both are open: a probe
 * carries no credentials. So an answer names reasons by code and with a fixed sentence, and never another node.
 *
 * - `/health/live` answers 200 as long as the process handles requests. A node that is not ready is not restarted for
 *   it: recovering, rebuilding or leaving takes its time, and a restart would begin it anew.
 * - `/health/ready` answers 200 if the node can serve its share of the keys, and 503 with every reason otherwise. What
 *   an operator must repair and what keeps no share from being served is a warning; it changes no status.
 */

/** Why a node cannot serve its share. */
export type NotReadyCode = keyof typeof notReadyReasons;

/** What each code says. */
export const notReadyReasons = {
  starting: 'the node is starting: not all of its listeners are open yet',
  stopping: 'the node is stopping',
  store_failed:
    'the store takes no writes since a write or a sync failed; restart the node once the disk is sound',
  disk_full: 'the store takes no writes since the disk was full; free space, and the node goes on by itself',
  joining: 'the node joins the cluster, and owns nothing yet',
  leaving: 'the node leaves the cluster, or has left it',
  standby: 'an operator has put the node in STANDBY; lockstep standby --return ends it',
  not_a_member: 'peers refuse the node as no member of the cluster, so it serves nothing',
  rebuilding:
    'the node gets its data back after its disk was lost or was new, and leads no keys before that is done',
  ring_not_agreed: 'the node does not have the ring view of most reachable members yet',
} as const;

/** What an operator must repair although the node serves its share. */
export type HealthWarningCode = keyof typeof healthWarnings;

/** What each code says. */
export const healthWarnings = {
  hint_store_failed:
    'the hint store takes no writes since a write or a sync failed: the node keeps no writes for replicas that miss them; restart the node once the disk is sound',
  hint_store_full:
    'the hint store takes no writes since the disk was full: the node keeps no writes for replicas that miss them; free space, and the node goes on by itself',
} as const;

/** The health of one node as the routes show it; `node/` implements it. */
export interface HealthSource {
  readonly node: string;
  /** In the order of `notReadyReasons`; empty if the node is ready. */
  readonly notReady: readonly NotReadyCode[];
  /** Empty if there is nothing to repair. */
  readonly warnings: readonly HealthWarningCode[];
}

/** The body of an answer, and its HTTP status. */
export interface HealthAnswer {
  readonly status: 200 | 503;
  readonly body: string;
}

/** `{"status":"live","node"}` */
export function liveAnswer({ node }: HealthSource): HealthAnswer {
  return { status: 200, body: `${JSON.stringify({ status: 'live', node })}\n` };
}

/** `{"status":"ready"|"not_ready","node","reasons":[{"code","detail"}],"warnings":[{"code","detail"}]}` */
export function readyAnswer({ node, notReady, warnings }: HealthSource): HealthAnswer {
  const reasons = notReady.map((code) => ({ code, detail: notReadyReasons[code] }));
  const ready = reasons.length === 0;
  const status = ready ? 'ready' : 'not_ready';
  const named = warnings.map((code) => ({ code, detail: healthWarnings[code] }));
  const body = `${JSON.stringify({ status, node, reasons, warnings: named })}\n`;
  return { status: ready ? 200 : 503, body };
}
