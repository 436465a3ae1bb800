/** The entries of requests over HTTP, at the listener of clients and operators and at that of statistics. */
import type { RequestEntry } from './entry.ts';

const objects = '/buckets/:bucket/keys/:key';
const sameHandlers = 'the old form of the path: the same handlers as behind /buckets';
const shown = 'it shows to people what other requests show, and changes nothing';
const bothWays = 'the same operation is sent over the other protocol; the conversion has tests of its own';
const unconditional =
  'of the conditions, If-Match and If-None-Match are sent: dates have whole seconds, too coarse for a run';
const constant = 'its answer does not depend on what is stored';

function oldForm(request: string): RequestEntry {
  return { request, sent: {}, unsent: { [sameHandlers]: '(itself)' } };
}

function unsent(request: string, reason: string, fields = '(itself)'): RequestEntry {
  return { request, sent: {}, unsent: { [reason]: fields } };
}

/** The entries. */
export const httpEntries: readonly RequestEntry[] = [
  {
    request: 'every request over HTTP',
    sent: { 'world/http/http-client': '(itself) Host Authorization' },
    unsent: {
      'browsers send them: the guard has tests of its own': 'Sec-Fetch-Site Origin',
      'it names a trace or a line of the log, and no answer depends on it': 'Traceparent X-Request-Id',
    },
  },
  {
    request: `GET ${objects}`,
    sent: {
      'workload/client':
        '(itself) /types ?r ?pr ?node_confirms ?notfound_ok ?basic_quorum ?timeout Accept If-None-Match',
    },
    unsent: {
      'the parts of one answer show all siblings already': '?vtag',
      [unconditional]: 'If-Match If-Modified-Since If-Unmodified-Since',
    },
  },
  unsent(`HEAD ${objects}`, 'the answer to GET without its body'),
  {
    request: `PUT ${objects}`,
    sent: {
      'workload/client':
        '(itself) /types ?w ?pw ?dw ?node_confirms ?timeout Content-Type X-Riak-Vclock X-Riak-If-Not-Modified If-Match If-None-Match',
      'workload/described-values': 'Content-Encoding Link X-Riak-Meta-* X-Riak-Index-*',
    },
    unsent: {
      'not tried yet: the answer with the object': '?returnbody Accept',
      'refused unless it changes nothing': '?asis ?sync_on_write',
      [unconditional]: 'If-Unmodified-Since',
    },
  },
  unsent(`POST ${objects}`, 'the same handler as PUT'),
  {
    request: `DELETE ${objects}`,
    sent: {
      'workload/client': '(itself) /types ?rw ?pw ?dw ?timeout X-Riak-Vclock X-Riak-If-Not-Modified If-Match',
    },
    unsent: {
      [unconditional]: 'If-None-Match If-Unmodified-Since',
      'Riak’s old name for both needs is sent instead': '?r ?w ?pr ?node_confirms',
    },
  },
  ...['GET', 'PUT', 'POST', 'DELETE'].map((method) => oldForm(`${method} /riak/:bucket/:key`)),
  ...['POST /riak/:bucket', 'PUT /riak/:bucket', 'GET /riak'].map(oldForm),
  { request: 'GET /riak/:bucket', sent: {}, unsent: { [sameHandlers]: '(itself) ?props ?keys' } },
  unsent('POST /buckets/:bucket/keys', 'clients must know the key before the answer, which may be lost'),
  {
    request: 'GET /buckets/:bucket/keys',
    sent: { 'workload/job-client': '(itself) /types ?keys ?timeout' },
  },
  unsent(
    'GET /buckets',
    'not tried yet: listings of buckets use the pages of listings of keys',
    '(itself) ?buckets',
  ),
  { request: 'GET /buckets/:bucket/props', sent: { 'workload/bucket-operator': '(itself) /types' } },
  {
    request: 'PUT /buckets/:bucket/props',
    sent: { 'workload/bucket-operator': '(itself) Content-Type props' },
    unsent: { 'the operator changes types as a whole': '/types' },
  },
  {
    request: 'DELETE /buckets/:bucket/props',
    sent: { 'workload/bucket-operator': '(itself)' },
    unsent: { 'the operator changes types as a whole': '/types' },
  },
  unsent('GET /types', shown),
  { request: 'POST /types', sent: { 'runner/type-maker': '(itself) Content-Type name props' } },
  unsent('GET /types/:type/props', 'the operator reads what a bucket of the type has'),
  { request: 'PUT /types/:type/props', sent: { 'workload/bucket-operator': '(itself) Content-Type props' } },
  unsent(
    'POST /transactions',
    bothWays,
    `(itself) operations force_abort consistency timeout_ms id ${['op', 'type', 'bucket', 'key', 'value', 'encoding', 'content_type', 'charset', 'content_encoding', 'meta', 'links', 'context', 'if_match', 'if_absent'].map((field) => `operations.${field}`).join(' ')}`,
  ),
  unsent('POST /buckets/:bucket/transactions', bothWays, '(itself) /types'),
  unsent('GET /transactions', bothWays, '(itself) ?state'),
  unsent('GET /transactions/:id', bothWays, '(itself) ?members'),
  unsent('POST /transactions/:id/resolve', bothWays, '(itself) heuristic'),
  unsent('GET /mapred', constant),
  unsent('POST /mapred', bothWays, '(itself) ?chunked Content-Type'),
  { request: 'GET /wasm/modules', sent: { 'workload/module-work': '(itself)' } },
  unsent('GET /wasm/modules/:id', 'the list shows the same', '(itself) Accept'),
  { request: 'PUT /wasm/modules/:id', sent: { 'workload/module-work': '(itself)' } },
  unsent('DELETE /wasm/modules/:id', 'not tried yet: a bucket or a job would lose its module'),
  { request: 'GET /cluster', sent: { 'workload/scrape': '(itself)' } },
  unsent('POST /cluster/leave', 'faults order it by the same call, without HTTP', '(itself) ?force'),
  unsent('POST /cluster/standby', 'faults order it by the same call, without HTTP', '(itself) ?return'),
  { request: 'GET /upgrade', sent: { 'workload/upgrade-operator': '(itself)' } },
  { request: 'POST /upgrade/finalize', sent: { 'workload/upgrade-operator': '(itself)' } },
  { request: 'POST /backup/hold', sent: { 'workload/backup-operator': '(itself) id lease_ms' } },
  { request: 'POST /backup/cut', sent: { 'workload/backup-operator': '(itself) id' } },
  { request: 'POST /backup/release', sent: { 'workload/backup-operator': '(itself) id' } },
  { request: 'POST /backup/end', sent: { 'workload/backup-operator': '(itself) id' } },
  {
    request: 'GET /backup/:id/segments/:number',
    sent: { 'workload/backup-operator': '(itself) ?from ?bytes' },
  },
  unsent(
    'POST /backup/restore',
    'not tried yet: each backup is read back as a restore reads it, and not written to another cluster',
    '(itself) ?overwrite',
  ),
  unsent('GET /aae', shown),
  unsent('POST /aae/sweep', 'sweeps begin by time'),
  ...['/console', '/console/page.js', '/console/page.css', '/console/overview', '/console/versions'].map(
    (path) => unsent(`GET ${path}`, shown),
  ),
  unsent('GET /console/types/:type/buckets', shown),
  unsent('GET /console/types/:type/buckets/:bucket/keys', shown, '(itself) ?from ?limit'),
  unsent('GET /console/types/:type/buckets/:bucket/keys/:key', shown),
  unsent('GET /ping', constant),
  unsent('GET /stats', 'the statistics listener has all of them'),
  unsent('GET /', constant),
  unsent('GET /openapi.json', constant),
  {
    request: 'GET /stats (statistics)',
    sent: { 'workload/scrape': '(itself)' },
    unsent: { [shown]: '?pretty' },
  },
  { request: 'GET /metrics (statistics)', sent: { 'workload/scrape': '(itself)' } },
  ...['/', '/info', '/ping', '/cluster_describe', '/health/live', '/health/ready'].map((path) =>
    unsent(`GET ${path} (statistics)`, shown),
  ),
];
