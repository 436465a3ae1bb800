/** The entries of the binary protocol's requests, and of the parts that they share with requests over HTTP. */
import type { RequestEntry } from './entry.ts';

const noQuorumOfOthers =
  'accepted and ignored: Riak’s clients send it, and no request here counts fallbacks or other numbers of copies';
const answersOnly = 'a field of answers; the engine ignores it in a request';
const checkedByTests =
  'the engine’s own tests compare what is stored; no replica treats it apart from the value';
const needs = ['r', 'w', 'pr', 'pw', 'dw', 'rw', 'node_confirms'];

/** The entries. */
export const messageEntries: readonly RequestEntry[] = [
  { request: 'RpbPingReq', sent: { 'workload/impatient-client': '(itself)' } },
  {
    request: 'RpbGetClientIdReq',
    sent: {},
    unsent: { 'a client id changes nothing here: actors are the replicas’ own': '(itself)' },
  },
  {
    request: 'RpbSetClientIdReq',
    sent: {},
    unsent: { 'a client id changes nothing here: actors are the replicas’ own': '(itself) client_id' },
  },
  {
    request: 'RpbGetServerInfoReq',
    sent: {},
    unsent: { 'the answer is constant: a unit test compares it': '(itself)' },
  },
  {
    request: 'RpbGetReq',
    sent: {
      'workload/client':
        '(itself) bucket key r pr basic_quorum notfound_ok if_modified deletedvclock timeout type node_confirms',
    },
    unsent: {
      [noQuorumOfOthers]: 'sloppy_quorum n_val',
      'not tried yet: an answer without values': 'head',
    },
  },
  {
    request: 'RpbPutReq',
    sent: {
      'workload/client':
        '(itself) bucket key vclock content content.value w dw pw if_not_modified if_none_match timeout type node_confirms',
      'workload/described-values':
        'content.content_type content.charset content.content_encoding content.links content.links.bucket content.links.key content.links.tag content.usermeta content.usermeta.key content.usermeta.value content.indexes content.indexes.key content.indexes.value',
    },
    unsent: {
      [noQuorumOfOthers]: 'sloppy_quorum n_val',
      [answersOnly]: 'content.vtag content.last_mod content.last_mod_usecs content.deleted',
      'refused unless false: every write gets a version of its own': 'asis',
      'not tried yet: the answer with the object': 'return_body return_head',
    },
  },
  {
    request: 'RpbDelReq',
    sent: { 'workload/client': '(itself) bucket key rw vclock w pw dw timeout type' },
    unsent: {
      [noQuorumOfOthers]: 'sloppy_quorum n_val',
      'the read before a deletion, whose level the deletion’s own outcome does not show': 'r pr',
    },
  },
  {
    request: 'RpbListBucketsReq',
    sent: {},
    unsent: {
      'not tried yet: listings of buckets use the pages of listings of keys': '(itself) timeout stream type',
    },
  },
  { request: 'RpbListKeysReq', sent: { 'workload/job-client': '(itself) bucket timeout type' } },
  {
    request: 'RpbGetBucketReq',
    sent: {},
    unsent: {
      'the bucket operator asks over HTTP; both use one table of properties': '(itself) bucket type',
    },
  },
  {
    request: 'RpbSetBucketReq',
    sent: {},
    unsent: {
      'the bucket operator asks over HTTP; both use one table of properties': '(itself) bucket props type',
    },
  },
  {
    request: 'RpbResetBucketReq',
    sent: {},
    unsent: {
      'the bucket operator asks over HTTP; both use one table of properties': '(itself) bucket type',
    },
  },
  {
    request: 'RpbGetBucketTypeReq',
    sent: {},
    unsent: { 'the bucket operator asks over HTTP; both use one table of properties': '(itself) type' },
  },
  {
    request: 'RpbSetBucketTypeReq',
    sent: {},
    unsent: { 'the bucket operator asks over HTTP; both use one table of properties': '(itself) type props' },
  },
  {
    request: 'RpbBucketProps',
    sent: {},
    unsent: {
      'the bucket operator asks over HTTP; both use one table of properties':
        'allow_mult last_write_wins chash_keyfun chash_keyfun.module chash_keyfun.function old_vclock young_vclock big_vclock small_vclock pr r w pw dw rw basic_quorum notfound_ok keyfun_module',
      'has one allowed value, so it changes nothing':
        'n_val precommit precommit.modfun precommit.modfun.module precommit.modfun.function precommit.name has_precommit postcommit postcommit.modfun postcommit.modfun.module postcommit.modfun.function postcommit.name has_postcommit linkfun linkfun.module linkfun.function search repl consistent write_once',
      'refused: a feature of Riak that is not here': 'backend search_index datatype hll_precision ttl',
    },
  },
  { request: 'RpbMapRedReq', sent: { 'workload/job-client': '(itself) request content_type' } },
  {
    request: 'RpbGetBucketKeyPreflistReq',
    sent: {},
    unsent: {
      'it reads the ring alone, which `ring-agreement` compares on every node': '(itself) bucket key type',
    },
  },
  {
    request: 'LockTransactionReq',
    sent: {
      'workload/transaction-client':
        '(itself) operations operations.type operations.bucket operations.key operations.content operations.content.value operations.delete operations.vclock operations.if_match operations.if_absent force_abort consistency timeout id',
    },
    unsent: {
      [answersOnly]:
        'operations.content.vtag operations.content.last_mod operations.content.last_mod_usecs operations.content.deleted',
      [checkedByTests]:
        'operations.content.content_type operations.content.charset operations.content.content_encoding operations.content.links operations.content.links.bucket operations.content.links.key operations.content.links.tag operations.content.usermeta operations.content.usermeta.key operations.content.usermeta.value operations.content.indexes operations.content.indexes.key operations.content.indexes.value',
    },
  },
  { request: 'LockTransactionGetReq', sent: { 'workload/transaction-finals': '(itself) transaction_id' } },
  { request: 'LockTransactionListReq', sent: { 'workload/transaction-finals': '(itself)' } },
  {
    request: 'LockTransactionResolveReq',
    sent: { 'workload/decision-operator': '(itself) transaction_id heuristic' },
  },
  { request: 'RpbAuthReq', sent: { 'workload/pb-connection': '(itself) user password' } },
  {
    request: 'RpbStartTls',
    sent: {},
    unsent: { 'the world’s network has no TLS: the real port’s tests try it': '(itself)' },
  },
  {
    request: 'MapReduce job',
    sent: {
      'workload/job-client':
        'inputs query query.map query.map.language query.map.module query.map.function query.reduce query.reduce.language query.reduce.module query.reduce.function query.link query.link.keep',
    },
    unsent: {
      'not tried yet: inputs that are chosen by their names, or carry data to the phase':
        'inputs.bucket inputs.key_filters inputs.type inputs.key inputs.keydata inputs.data inputs.value inputs.tag',
      'not tried yet: phases with arguments, and results of phases before the last': `${['map', 'reduce'].flatMap((kind) => [`query.${kind}.arg`, `query.${kind}.keep`]).join(' ')} query.link.bucket query.link.tag`,
      'other names of the same field': `query.map.name query.map.fn_name query.map.id query.map.module_id query.wasm query.wasm.id query.wasm.module_id query.wasm.module query.wasm.kind query.wasm.fn_name query.wasm.arg query.wasm.keep`,
      'the limit of the node ends a job that takes too long': 'timeout',
    },
  },
  {
    request: 'bucket properties',
    sent: {
      'workload/bucket-operator': 'allow_mult=true allow_mult=false old_vclock=number big_vclock=number',
      'world/cluster/node-config':
        'small_vclock=number young_vclock=number chash_keyfun=CUSTOM wasm_keyfun=module',
    },
    unsent: {
      'the default':
        'last_write_wins=false basic_quorum=false notfound_ok=true chash_keyfun=STD wasm_keyfun=none',
      'the default of a request states nothing': needs.map((name) => `${name}=default`).join(' '),
      'not tried yet': 'last_write_wins=true chash_keyfun=BUCKETONLY',
      'not tried yet: clients state in each request what they wait for': `basic_quorum=true notfound_ok=false ${needs.flatMap((name) => ['number', 'one', 'quorum', 'all'].map((value) => `${name}=${value}`)).join(' ')}`,
    },
  },
];
