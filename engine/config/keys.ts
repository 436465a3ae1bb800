/**
 * The table of configuration keys. The type of a configuration, parsing, defaults, names of environment variables,
 * error messages and the reference listing all derive from it. A row's name in the file is the field's name in snake
 * case; in the environment it is `LOCKSTEP_` and that name in upper case. A field's unit is in its name.
 */
import { consistencyLevels } from '../replication/requests.ts';
import { logLevels } from '../io/log.ts';
import { advertisedAddress, listenAddress, optionalAddress } from './addresses.ts';
import { bucketTypeMap } from './bucket-types.ts';
import {
  nodeName,
  numTokensDefault,
  optionalNodeName,
  placeName,
  seedList,
  tokenCount,
  tokenList,
} from './members.ts';
import { clientKeys } from './client-keys.ts';
import { securityKeys } from './security-keys.ts';
import type { ValueKind } from './values.ts';
import { flag, oneOf, powerOfTwo, text, wholeNumber, plain } from './values.ts';
import type { ConfigKey, KeyRows, ValueOf } from './config-key.ts';
import { untried } from './config-key.ts';
import { tracingKeys } from './tracing-keys.ts';
import { wasmKeys } from './wasm-keys.ts';

/** When a write counts as stored: after the sync that covers it, or up to `intervalMs` milliseconds before it. */
export type SyncMode =
  { readonly kind: 'always' } | { readonly kind: 'interval'; readonly intervalMs: number };

/** `always`, or the interval in milliseconds. */
export const syncMode: ValueKind<SyncMode> = plain(
  'always, or a whole number of ms from 1 to 60000',
  (given): { value: SyncMode } | undefined => {
    if (given === 'always') return { value: { kind: 'always' } };
    if (typeof given !== 'number' || !Number.isInteger(given) || given < 1 || given > 60_000)
      return undefined;
    return { value: { kind: 'interval', intervalMs: given } };
  },
);

/** `member`: the node owns its tokens from the start. `joining`: it joins a cluster that runs without it. */
export type JoinMode = 'member' | 'joining';

/** All join modes. */
export const joinModes: readonly JoinMode[] = ['member', 'joining'];

const consistency = oneOf(consistencyLevels);
const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** The rows, in the order of the reference listing. */
const rows = {
  name: {
    kind: nodeName,
    trial: untried('the cluster of a plan names its nodes'),
    help: 'This node’s name, different from every other node’s in the cluster.',
  },
  clusterId: {
    kind: text(64),
    fallback: 'lockstep',
    trial: untried('all nodes of a run belong to one cluster; wrong-identity brings another'),
    help: 'Name of the cluster; nodes and data directories of other clusters are refused.',
  },
  datacenter: {
    kind: placeName,
    fallback: 'dc1',
    trial: untried('the topology of a plan places its nodes'),
    help: 'Datacenter that this node stands in.',
  },
  rack: {
    kind: placeName,
    fallback: 'r1',
    trial: untried('the topology of a plan places its nodes'),
    help: 'Rack that this node stands in; every rack holds one copy of all keys.',
  },
  tokens: {
    kind: tokenList,
    fallback: [],
    trial: untried('num_tokens varies the ring; two nodes with chosen tokens are a fault, wrong-identity'),
    help: 'Places on the ring; when empty, num_tokens of them are derived from the name.',
  },
  numTokens: {
    kind: tokenCount,
    fallback: numTokensDefault,
    trial: [1, 3, numTokensDefault],
    help: 'How many tokens to derive from the name; not together with tokens.',
  },
  seeds: {
    kind: seedList,
    fallback: [],
    trial: untried('every node of a run knows all others'),
    help: 'The other nodes of the cluster; an entry of this node itself must agree with it and is left out.',
  },
  join: {
    kind: oneOf(joinModes),
    fallback: 'member',
    trial: untried('membership-change joins nodes'),
    help: 'member: this node owns its part of the ring from the start, as the seeds do. joining: it is new to a cluster that runs, and owns nothing yet.',
  },
  replace: {
    kind: optionalNodeName,
    fallback: 'none',
    trial: untried('membership-change replaces nodes'),
    help: 'A dead node of this rack whose tokens this one takes over, with join: joining; the others tell it which.',
  },
  dataDir: {
    kind: text(4096),
    fallback: 'data',
    trial: untried('each node of a run has a disk of its own'),
    help: 'Directory of this node’s files; relative to the configuration file.',
  },
  listen: {
    kind: optionalAddress,
    fallback: '127.0.0.1:8098',
    trial: untried('clients use every listener'),
    help: 'HTTP listener for clients.',
  },
  pbListen: {
    kind: optionalAddress,
    fallback: '127.0.0.1:8087',
    trial: untried('clients use every listener'),
    help: 'Binary protocol (Riak’s Protocol Buffers) listener for clients.',
  },
  redisListen: {
    kind: optionalAddress,
    fallback: 'off',
    trial: untried('clients use every listener'),
    help: 'Redis protocol listener for clients.',
  },
  redisBucket: {
    kind: text(64),
    fallback: 'redis',
    trial: untried('a name; which one changes nothing'),
    help: 'Bucket that the keys of Redis clients live in.',
  },
  redisAnswerBytesMax: {
    kind: wholeNumber(1024, 4 * 1024 ** 3 - 1, 'bytes'),
    fallback: 64 * 1024 ** 2,
    trial: [64 * 1024, 64 * 1024 ** 2],
    help: 'Bytes that one command on several keys (MGET, KEYS), or one transaction, may hold and answer; one value always may.',
  },
  redisSubscriberBytesMax: {
    kind: wholeNumber(1024, 4 * 1024 ** 3 - 1, 'bytes'),
    fallback: 32 * 1024 ** 2,
    trial: [64 * 1024, 32 * 1024 ** 2],
    help: 'Bytes of messages that may wait for a subscriber; more, or a quarter of it for a minute, ends its connection.',
  },
  peerListen: {
    kind: listenAddress,
    fallback: '127.0.0.1:8101',
    trial: untried('the network of a run gives the addresses'),
    help: 'Listener for the other nodes.',
  },
  peerAdvertise: {
    kind: advertisedAddress,
    fallback: 'auto',
    trial: untried('the network of a run gives the addresses'),
    help: 'Where the other nodes reach peer_listen; auto is its own address.',
  },
  peerVersion: {
    kind: wholeNumber(3, 7),
    fallback: 7,
    trial: untried('older-build sets it, in rolling-upgrade'),
    help: 'The highest version of peer messages that this node speaks; a lower one than the build has lets a cluster be tried as a mix of builds.',
  },
  statsListen: {
    kind: optionalAddress,
    fallback: '127.0.0.1:22222',
    trial: untried('scrapes use it'),
    help: 'Listener for /info, /stats and /metrics.',
  },
  ...securityKeys,
  readConsistency: {
    kind: consistency,
    fallback: 'DC_QUORUM',
    trial: consistencyLevels,
    help: 'Whose answers a read waits for when the request does not say.',
  },
  readHedgeMs: {
    kind: wholeNumber(0, 600_000, 'ms'),
    fallback: 20,
    trial: [0, 5, 20],
    help: 'A read asks as many replicas as must answer, and the others when those are silent for so long; 0: all at once.',
  },
  readRepairPercent: {
    kind: wholeNumber(0, 100),
    fallback: 10,
    trial: [0, 10, 100],
    help: 'Of a hundred reads, how many ask every replica at once, which finds and repairs stale copies beyond the quorum.',
  },
  writeConsistency: {
    kind: consistency,
    fallback: 'DC_QUORUM',
    trial: consistencyLevels,
    help: 'Whose durable copies a write waits for when the request does not say.',
  },
  sync: {
    kind: syncMode,
    fallback: 'always',
    trial: untried(
      'with an interval a power loss takes acknowledged writes, which no check could tell from a fault; two scenarios set one',
    ),
    help: 'When a write is answered: always after the fsync that covers it; with an interval before it, and a crash of the machine loses single writes that were answered since the last one.',
  },
  requestTimeoutMs: {
    kind: wholeNumber(10, 600_000, 'ms'),
    fallback: 5000,
    trial: [500, 1000, 5000],
    help: 'How long a request may take when the client does not say.',
  },
  drainTimeoutMs: {
    kind: wholeNumber(0, 600_000, 'ms'),
    fallback: 10_000,
    trial: [500, 10_000],
    help: 'How long requests under way may take to finish when the node stops.',
  },
  bucketTypes: {
    kind: bucketTypeMap,
    fallback: new Map(),
    trial: untried('the types of a plan are part of its load'),
    help: 'Bucket types and the properties of their buckets (allow_mult and the like); default always exists.',
  },
  bucketPropertiesMax: {
    kind: wholeNumber(1, 100_000, 'buckets'),
    fallback: 10_000,
    trial: [100, 10_000],
    help: 'Buckets and bucket types that may have properties of their own.',
  },
  tombstoneGraceSeconds: {
    kind: wholeNumber(1, 31_536_000, 'seconds'),
    fallback: 86_400,
    trial: [1, 10, 86_400],
    help: 'How long a deletion is remembered at least; afterwards it is forgotten once every member holds it. Longer than any node is away.',
  },
  valueBytesMax: {
    kind: wholeNumber(1, gibibyte, 'bytes'),
    fallback: 8 * mebibyte,
    trial: [mebibyte, 8 * mebibyte],
    help: 'Largest value that is accepted.',
  },
  ...clientKeys,
  ...tracingKeys,
  peerConnectTimeoutMs: {
    kind: wholeNumber(10, 600_000, 'ms'),
    fallback: 2000,
    trial: [200, 2000],
    help: 'How long connecting to a peer may take.',
  },
  peerBackoffMsMin: {
    kind: wholeNumber(1, 600_000, 'ms'),
    fallback: 50,
    trial: [5, 50],
    help: 'Wait before connecting to a peer again after the first failure; it doubles with each further one.',
  },
  peerBackoffMsMax: {
    kind: wholeNumber(1, 600_000, 'ms'),
    fallback: 5000,
    trial: [200, 5000],
    help: 'Longest wait before connecting to a peer again.',
  },
  peerRequestTimeoutMs: {
    kind: wholeNumber(10, 600_000, 'ms'),
    fallback: 5000,
    trial: [1000, 5000],
    help: 'How long a peer may take to answer before its connection counts as lost.',
  },
  peerOutboxCountMax: {
    kind: wholeNumber(1, 1_000_000, 'messages'),
    fallback: 10_000,
    trial: [300, 10_000],
    help: 'Messages that may wait for one peer; further ones are refused.',
  },
  peerOutboxBytesMax: {
    kind: wholeNumber(1024, 4 * gibibyte, 'bytes'),
    fallback: 64 * mebibyte,
    trial: [4 * mebibyte, 64 * mebibyte],
    help: 'Bytes that may wait for one peer; further ones are refused.',
  },
  frameBytesMax: {
    kind: wholeNumber(320 * 1024, 2 * gibibyte - 1, 'bytes'),
    fallback: 32 * mebibyte,
    trial: [9 * mebibyte, 32 * mebibyte],
    help: 'Largest message between nodes; must exceed value_bytes_max by 262144 at least.',
  },
  gossipIntervalMs: {
    kind: wholeNumber(50, 60_000, 'ms'),
    fallback: 1000,
    trial: [100, 300, 1000],
    help: 'How often this node gives a sign of life and compares its view of the cluster with a peer’s.',
  },
  phiThresholdMilli: {
    kind: wholeNumber(500, 100_000, 'thousandths'),
    fallback: 8000,
    trial: [2000, 8000],
    help: 'A peer whose phi (how unlikely its silence is, times 1000) exceeds this is down: 8000 is 18.4 s of silence at one sign of life a second.',
  },
  phiWindowCount: {
    kind: wholeNumber(2, 10_000, 'intervals'),
    fallback: 100,
    trial: [10, 100],
    help: 'Intervals between signs of life whose mean phi is reckoned by.',
  },
  phiMeanMsMin: {
    kind: wholeNumber(10, 60_000, 'ms'),
    fallback: 1000,
    trial: [100, 1000],
    help: 'That mean is taken for this at least, and for gossip_interval_ms at least, so that a lively peer is not suspected too soon.',
  },
  storeSegmentBytesMax: {
    kind: wholeNumber(4096, 2 * gibibyte - 1, 'bytes'),
    fallback: 128 * mebibyte,
    trial: [16_384, 65_536, 128 * mebibyte],
    help: 'Size at which the store begins a new file.',
  },
  storeCacheBytesMax: {
    kind: wholeNumber(0, 16 * gibibyte, 'bytes'),
    fallback: 64 * mebibyte,
    // The smallest cache that is one: two chunks, for values of up to a kilobyte.
    trial: [0, 8192, 65_536, 64 * mebibyte],
    help: 'Bytes of memory for values that were read or written lately; others are read from the disk. Below 8192: none.',
  },
  storeQueueCountMax: {
    kind: wholeNumber(1, 1_000_000, 'operations'),
    fallback: 10_000,
    trial: [200, 10_000],
    help: 'Operations that may wait for the store (and at most so many are with it); further ones are refused.',
  },
  storeQueueBytesMax: {
    kind: wholeNumber(1024, 4 * gibibyte, 'bytes'),
    fallback: 64 * mebibyte,
    trial: [mebibyte, 64 * mebibyte],
    help: 'Bytes that may wait for the store (and at most so many are with it); further ones are refused.',
  },
  hintedHandoff: {
    kind: flag,
    fallback: true,
    trial: [false, true],
    help: 'Keeps writes that a replica missed on disk and hands them over when it returns.',
  },
  hintBytesMax: {
    kind: wholeNumber(mebibyte, 64 * gibibyte, 'bytes'),
    fallback: 64 * mebibyte,
    trial: [mebibyte, 64 * mebibyte],
    help: 'Bytes of such writes kept at most; further ones are left to read repair and anti-entropy.',
  },
  hintAgeSecondsMax: {
    kind: wholeNumber(1, 31_536_000, 'seconds'),
    fallback: 86_400,
    trial: [2, 86_400],
    help: 'How long such a write is kept for a replica that does not return, in time for which this node runs.',
  },
  hintDrainIntervalMs: {
    kind: wholeNumber(100, 3_600_000, 'ms'),
    fallback: 10_000,
    trial: [100, 500, 10_000],
    help: 'How often kept writes are looked through; they also go as soon as their replica is back.',
  },
  aaeEnabled: {
    kind: flag,
    fallback: true,
    trial: [false, true],
    help: 'Replicas compare what they hold by themselves, and repair what differs.',
  },
  aaeSegments: {
    kind: powerOfTwo,
    fallback: 65_536,
    trial: [16, 256, 1_048_576],
    help: 'Segments of the hash tree: more find a difference closer and take more memory, 21 bytes each.',
  },
  aaeTickIntervalSeconds: {
    kind: wholeNumber(1, 86_400, 's'),
    fallback: 15,
    trial: [1, 2],
    help: 'How often this node compares itself with a peer; each time with the next one.',
  },
  aaeFullSweepIntervalSeconds: {
    kind: wholeNumber(1, 31_536_000, 's'),
    fallback: 86_400,
    trial: [3, 86_400],
    help: 'How often it reads all its values again, which finds what has rotted, and compares itself with all peers.',
  },
  aaeThrottle: {
    kind: wholeNumber(0, 100_000_000, 'keys/s'),
    fallback: 20_000,
    trial: [0, 500, 20_000],
    help: 'Keys that anti-entropy reads or sends in a second at most; 0: as many as it can.',
  },
  peerPageBytes: {
    kind: wholeNumber(64, 16 * mebibyte, 'bytes'),
    fallback: 512 * 1024,
    trial: untried(
      'a run writes less than the smallest page that servers need; scenarios may set a small one',
    ),
    help: 'Bytes of one page when nodes list keys to each other, about: in anti-entropy, of idempotency keys and of bucket properties.',
  },
  peerPageItems: {
    kind: wholeNumber(1, 100_000),
    fallback: 2000,
    trial: [1, 3, 2000],
    help: 'Items of one page, message or step of background work at most (names, transactions, records); some take fewer.',
  },
  aaeSnapshotIntervalSeconds: {
    kind: wholeNumber(1, 31_536_000, 's'),
    fallback: 300,
    trial: [1, 300],
    help: 'How often the hash tree is saved, so that a start after a crash need not read everything.',
  },
  transactionOperationsMax: {
    kind: wholeNumber(1, 100_000, 'operations'),
    fallback: 1000,
    trial: [100, 1000],
    help: 'Operations of one transaction at most.',
  },
  transactionBytesMax: {
    kind: wholeNumber(1, gibibyte, 'bytes'),
    fallback: 8 * mebibyte,
    trial: [mebibyte, 8 * mebibyte],
    help: 'Keys, values and metadata of one transaction at most, as far as frame_bytes_max leaves room for them.',
  },
  transactionInquiryMs: {
    kind: wholeNumber(10, 600_000, 'ms'),
    fallback: 1000,
    trial: [50, 250, 1000],
    help: 'How long a prepared branch waits before it asks for the outcome, and a decision before it is sent again.',
  },
  transactionReadWaitMs: {
    kind: wholeNumber(1, 600_000, 'ms'),
    fallback: 1000,
    trial: [20, 500, 1000],
    help: 'How long a read at the primary of a prepared key waits for the outcome.',
  },
  transactionRetentionSeconds: {
    kind: wholeNumber(1, 31_536_000, 'seconds'),
    fallback: 600,
    trial: [120, 600],
    help: 'How long outcomes, and ids that clients chose, are remembered.',
  },
  transactionRememberedMax: {
    kind: wholeNumber(1, 100_000_000),
    fallback: 500_000,
    trial: [5000, 500_000],
    help: 'How many outcomes are remembered at most: the oldest make room. As many ids of clients, those of other nodes’ transactions on keys that are here too included: with so many, transactions with new ones are refused.',
  },
  transferBytesPerSecond: {
    kind: wholeNumber(1024, 64 * gibibyte, 'bytes/s'),
    fallback: 32 * mebibyte,
    trial: [131_072, 32 * mebibyte],
    help: 'How fast this node moves ranges when it joins or leaves, at most.',
  },
  transferBatchBytes: {
    kind: wholeNumber(1024, 16 * mebibyte, 'bytes'),
    fallback: 256 * 1024,
    trial: [4096, 256 * 1024],
    help: 'Bytes of one batch of such a move, about; one is under way at a time.',
  },
  transferDropDelaySeconds: {
    kind: wholeNumber(0, 31_536_000, 'seconds'),
    fallback: 300,
    trial: [1, 5, 300],
    help: 'How long the ring has stood still, and all members agreed to it, before keys given away are removed here.',
  },
  leavePatienceSeconds: {
    kind: wholeNumber(0, 31_536_000, 'seconds'),
    fallback: 600,
    trial: [60, 600],
    help: 'How long a leaving node stays for transactions that it has a part in and writes that no other node takes from it.',
  },
  ...wasmKeys,
  mapredTimeoutMs: {
    kind: wholeNumber(10, 3_600_000, 'ms'),
    fallback: 60_000,
    trial: [5000, 60_000],
    help: 'How long a MapReduce job may take when the client does not say.',
  },
  mapredJobsMax: {
    kind: wholeNumber(1, 10_000, 'jobs'),
    fallback: 16,
    trial: [4, 16],
    help: 'MapReduce jobs that this node coordinates at once; further ones are refused.',
  },
  mapredInputsMax: {
    kind: wholeNumber(1, 10_000_000, 'inputs'),
    fallback: 100_000,
    trial: [1000, 100_000],
    help: 'Inputs that a MapReduce job may list; a bucket’s keys are not listed by the client and not counted here.',
  },
  mapredBytesMax: {
    kind: wholeNumber(1024, 4 * gibibyte, 'bytes'),
    fallback: 64 * mebibyte,
    trial: [mebibyte, 64 * mebibyte],
    help: 'Bytes of values that one MapReduce job gathers in one place: a reduce phase, or results not taken in chunks.',
  },
  logLevel: {
    kind: oneOf(logLevels),
    fallback: 'info',
    trial: untried('the world records every event; the level changes only what is printed'),
    help: 'Least level of events that are logged.',
  },
  statsIntervalMs: {
    kind: wholeNumber(100, 60_000, 'ms'),
    fallback: 1000,
    trial: [200, 1000],
    help: 'How often the statistics’ snapshot is taken.',
  },
} as const satisfies KeyRows;

/** All values of a configuration: what each row's kind reads. */
export type ConfigFields = { readonly [Field in keyof typeof rows]: ValueOf<(typeof rows)[Field]> };

/** The name of a configuration field. */
export type ConfigField = keyof ConfigFields;

/** The row of each field. */
export const configKeys: Readonly<Record<ConfigField, ConfigKey>> = rows;

/** All fields, in the table's order. */
export const configFields = Object.keys(configKeys) as readonly ConfigField[];
