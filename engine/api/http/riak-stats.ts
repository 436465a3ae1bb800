/**
 * `GET /stats` of the client listener: this node's numbers under Riak's names. Riak's clients read the server's version
 * here and choose features by it. The answer has only what the node counts; the statistics listener has everything.
 * Both use the latest snapshot, so they agree.
 */
import { riakVersion, version } from '../../base/version.ts';
import type { HttpRequest, HttpResponse, HttpRoute } from '../../io/http.ts';
import type { PoolField, ServerField } from '../../metrics/fixed-fields.ts';
import { poolFields, serverFields } from '../../metrics/fixed-fields.ts';
import type { StatsSnapshot } from '../../metrics/snapshot.ts';
import type { ClusterView } from './cluster-routes.ts';

/** What the route works with. */
export interface RiakStatsSource {
  /** The snapshot that was published last. */
  readonly snapshot: () => StatsSnapshot;
  readonly describe: () => Pick<ClusterView, 'node' | 'members'>;
}

/** States in which a member receives requests. */
const connectedStates = ['NORMAL', 'JOINING', 'STANDBY'];

/** The route. It answers JSON, or the same indented for `Accept: text/plain`, as Riak does. */
export function riakStatsRoute(source: RiakStatsSource): HttpRoute {
  const handle = (request: HttpRequest): HttpResponse => {
    const snapshot = source.snapshot();
    const stats = riakStats(snapshot, source.describe());
    const plain = /text\/plain/i.test(request.headers['accept'] ?? '') && !wantsJson(request);
    const headers = {
      'Content-Type': plain ? 'text/plain' : 'application/json',
      Vary: 'Accept',
      'Cache-Control': 'no-store',
      'X-Lockstep-Snapshot': String(snapshot.sequence),
    };
    return { status: 200, headers, body: JSON.stringify(stats, undefined, plain ? 2 : 0) };
  };
  return { method: 'GET', path: '/stats', handle };
}

function wantsJson({ headers }: HttpRequest): boolean {
  return /json/i.test(headers['accept'] ?? '');
}

function riakStats(
  snapshot: StatsSnapshot,
  { node, members }: Pick<ClusterView, 'node' | 'members'>,
): Readonly<Record<string, unknown>> {
  const others = members.filter((member) => member.node !== node);
  return {
    vnode_gets_total: serverValue(snapshot, 'read_requests'),
    vnode_puts_total: serverValue(snapshot, 'write_requests'),
    node_gets_total: poolValue(snapshot, 'client_read_requests'),
    node_puts_total: poolValue(snapshot, 'client_write_requests'),
    read_repairs_total: repairsStarted(snapshot),
    memory_total: snapshot.residentBytes,
    nodename: node,
    connected_nodes: others.filter(({ state }) => connectedStates.includes(state)).map((other) => other.node),
    ring_members: members.map((member) => member.node),
    ring_num_partitions: members.reduce((sum, { tokens }) => sum + tokens, 0),
    storage_backend: 'lockstep',
    riak_kv_version: riakVersion,
    riak_core_version: riakVersion,
    riak_api_version: riakVersion,
    riak_pb_version: riakVersion,
    lockstep_version: version,
  };
}

function poolValue({ pool }: StatsSnapshot, field: PoolField): number {
  return pool[poolFields.indexOf(field)] ?? 0;
}

function serverValue({ server }: StatsSnapshot, field: ServerField): number {
  return server[serverFields.indexOf(field)] ?? 0;
}

function repairsStarted({ families }: StatsSnapshot): number {
  const repairs = families.find(({ family }) => family.name === 'svc_read_repairs_total');
  return repairs?.samples.find(({ labels }) => labels['stage'] === 'started')?.value ?? 0;
}
