/**
 * The account of one incarnation of one node at one instant: the node's metrics, beside the expected values that the
 * world knows. The equations (`*-equations.ts`) compare the two. Plain data; counts are totals of the incarnation
 * unless stated otherwise.
 */

/** A sample of a node's metrics, by family and labels. */
export interface CountedSample {
  readonly family: string;
  readonly type: 'counter' | 'gauge';
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** The traffic between clients and the node, on the listeners for clients. */
export interface ClientTruth {
  /** Connections that the process holds now. */
  readonly open: number;
  /** Connections that the client ended first; connections that broke, or that the node cut because of their content. */
  readonly eof: number;
  readonly broken: number;
  /** Complete requests that the process received. */
  readonly gets: number;
  readonly puts: number;
  readonly deletes: number;
  /** Anything else: pings, malformed requests, malformed frames. */
  readonly others: number;
  /** Answers to those requests that the process wrote, errors included. */
  readonly answers: number;
  /** Values in answers to gets. */
  readonly valuesRead: number;
  /** Requests for objects over HTTP, their answers, and the values in these. */
  readonly http: HttpTruth;
  /**
   * Error answers by code: to all requests; to those that read (jobs and listings included); to those that write
   * (transactions and everything that reads nothing included). The answer that reports a transaction's outcome is no
   * error answer.
   */
  readonly errors: Readonly<Record<string, number>>;
  readonly getErrors: Readonly<Record<string, number>>;
  readonly writeErrors: Readonly<Record<string, number>>;
  /** Error answers, by code, that also state that nothing was applied. */
  readonly definiteErrors: Readonly<Record<string, number>>;
  /** Reads, and writes, without an answer when their connection ended: their outcome is invisible from outside. */
  readonly abandonedGets: number;
  readonly abandonedWrites: number;
  readonly jobs: JobTruth;
  /** Requests of both listeners that were answered with `Unauthorized` or `Forbidden`. */
  readonly turnedAway: number;
  /** Those answered with `RateLimited`. */
  readonly rateLimited: number;
  /** HTTP requests with an unknown token that the node has counted but not answered yet, or will never answer. */
  readonly guesses: number;
  readonly transactions: TransactionAnswers;
}

/** Requests for objects over HTTP. */
export interface HttpTruth {
  readonly gets: number;
  readonly puts: number;
  readonly deletes: number;
  readonly answers: number;
  readonly valuesRead: number;
}

/** Transactions over the binary protocol. */
export interface TransactionAnswers {
  readonly heard: number;
  /** Operations in them. */
  readonly operations: number;
  /** Inquiries about transactions; operators' decisions; and the decisions that were applied, by their kind. */
  readonly questions: number;
  readonly resolutions: number;
  readonly resolved: Readonly<Record<string, number>>;
  /** Answers, by outcome or abort reason. */
  readonly ended: Readonly<Record<string, number>>;
  /** Transactions answered by an error: they never began. */
  readonly failed: number;
  /** Transactions without an answer when their connection ended. */
  readonly abandoned: number;
  readonly abandonedResolutions: number;
}

/** MapReduce jobs over the binary protocol. */
export interface JobTruth {
  readonly heard: number;
  /** Jobs answered by a frame with `done`; by an error. */
  readonly done: number;
  readonly failed: number;
  /** Jobs without an answer when their connection ended. */
  readonly abandoned: number;
}

/** Publish and subscribe on the node's Redis connections. */
export interface MessageTruth {
  /** Messages of PUBLISH, SPUBLISH and EXEC whose answers say that they were published. */
  readonly published: number;
  /** Messages of such commands that have no answer, or never will: their connection ended first. */
  readonly unanswered: number;
  /** Messages that the process wrote to subscribers. */
  readonly delivered: number;
  /** Connections of subscribers that the process closed by itself. */
  readonly dropped: number;
  /** Subscriptions that it has confirmed and that last. */
  readonly subscriptions: Readonly<Record<'channel' | 'pattern' | 'shard', number>>;
}

/** The traffic between Redis clients and the node. */
export interface RedisTruth {
  readonly open: number;
  readonly eof: number;
  readonly broken: number;
  /** Commands that the process received; those of them that are object requests. */
  readonly commands: number;
  readonly reads: number;
  readonly writes: number;
  /** Replies to those requests. */
  readonly answers: number;
  /** Values received by SET and sent for GET. */
  readonly values: number;
  /** Keys of requests for more than one key. */
  readonly fragments: number;
  /** Error replies; those to reads, and to all other commands, by their error codes. */
  readonly errors: number;
  readonly readErrors: Readonly<Record<string, number>>;
  readonly writeErrors: Readonly<Record<string, number>>;
  /** Requests whose connection ended before their reply. */
  readonly abandoned: number;
  /** A client wrote a value that expires: nodes then also read and delete keys on their own. */
  readonly mortal: boolean;
  /** A client flushed a database: what is being written meanwhile may be refused by the replicas that know of it. */
  readonly flushes: boolean;
  /** Commands answered with NOAUTH, WRONGPASS or NOPERM. */
  readonly turnedAway: number;
  /** Commands answered with RATELIMITED. */
  readonly rateLimited: number;
  readonly messages: MessageTruth;
  /** Commands by their metric field `redis_req_…`. */
  readonly fields: Readonly<Record<string, number>>;
  /** The same for commands that may not have started, or never will: they waited behind others on their connection. */
  readonly held: Pick<RedisTruth, 'commands' | 'reads' | 'writes' | 'values' | 'fragments' | 'fields'>;
}

/** Connections of the peer plane in one direction. */
export interface LinkTruth {
  readonly open: number;
  /**
   * Ended connections, by cause: the other side ended first, a reset, a network timeout, this process's own decision.
   */
  readonly ended: number;
  readonly reset: number;
  readonly timedOut: number;
  readonly left: number;
  /** Connections cut because of malformed bytes, or ended within a frame. */
  readonly broken: number;
  /** The same, counted when the bytes arrived. */
  readonly rejected: number;
}

/** Requests of this node to its peers. */
export interface AskingTruth extends LinkTruth {
  readonly refusedConnects: number;
  readonly timedOutConnects: number;
  /** Request frames that the process wrote (pings of the plane excluded), and their bytes. */
  readonly requests: number;
  readonly requestBytes: number;
  /** Answer frames that it received: to a request without an earlier answer, and others. */
  readonly answers: number;
  readonly answerBytes: number;
  readonly strayAnswers: number;
  /** Requests on open connections without an answer. */
  readonly unanswered: number;
  readonly unansweredBytes: number;
  /** Gossip messages among the requests. */
  readonly gossip: number;
  /** Bytes of their frames' bodies. */
  readonly gossipBytes: number;
  /** Writes among the requests that this node sent to a replica. */
  readonly forwards: number;
  /** MapReduce phase batches among the requests. */
  readonly phases: number;
}

/** Requests of peers to this node. */
export interface AskedTruth extends LinkTruth {
  readonly reads: number;
  /** Reads among them that were answered with a failure. */
  readonly failedReads: number;
  readonly forwardedWrites: number;
  /** MapReduce phase batches: received, answered with results, and the inputs that those results covered. */
  readonly phasesHeard: number;
  readonly phasesAnswered: number;
  readonly phaseInputs: number;
  /** Answers that the process wrote (pongs excluded); those of them to gossip. */
  readonly answersWritten: number;
  readonly gossip: number;
  readonly gossipBytes: number;
  /** Requests received on open connections, less the answers written to them. */
  readonly underWay: number;
  /** Requests whose connection ended before the answer: they may still wait, but are in no queue any more. */
  readonly abandoned: number;
}

/** The traffic of the stats listener. */
export interface StatsListenerTruth {
  readonly open: number;
  /** Answers that the process wrote; those of them to unauthorized requests. */
  readonly answers: number;
  readonly turnedAway: number;
  /** As for clients. */
  readonly guesses: number;
}

/** What the disk received under the store's directory. */
export interface StoreTruth {
  /** Batches written to the log, and the bytes of keys and values in them. */
  readonly batches: number;
  readonly contentBytes: number;
  /** Writes of new batches, however many batches each carried. */
  readonly flushes: number;
  /**
   * Batches, and their bytes, that either this incarnation wrote or an earlier one's rewritten after a disk rollback.
   */
  readonly repeated: number;
  readonly repeatedBytes: number;
}

/** Totals over the files of a store. */
export interface StoreSizes {
  /** Keys whose newest record is no removal; the engine's system keys included. */
  readonly keys: number;
  /** Bytes of the segments that the manifest names; bytes of the newest records in them. */
  readonly diskBytes: number;
  readonly liveBytes: number;
}

/** Exchanges that the node began with the peers of one rack, and their results. */
export interface PeerExchanges {
  readonly attempts: number;
  readonly successes: number;
  readonly aborted: number;
  readonly divergentKeys: number;
  readonly repairs: number;
}

/** Anti-entropy of one incarnation. */
export interface AntiEntropyTruth {
  /** By `datacenter/rack`. */
  readonly byPlace: Readonly<Record<string, PeerExchanges>>;
  /** Aborted exchanges, by the step at which they were aborted. */
  readonly abortedAt: Readonly<Record<string, number>>;
  /** Exchanges in progress: 0 or 1. */
  readonly underWay: number;
  readonly saved: number;
  /** 1 if the incarnation found a snapshot that it had to load; one that it had to reject. */
  readonly loaded: number;
  readonly rejected: number;
  readonly refuted: number;
  /** Leaves of this node's tree that faults have altered so far in the run. */
  readonly alteredLeaves: number;
  /** Sum over all peers of the time of the last completed full sweep, in seconds of the node's own wall clock. */
  readonly sweptSeconds: number;
  /** Segments shared with any one peer that need a rebuild now, at least and at most. */
  readonly dirty: readonly [least: number, most: number];
}

/** Traced calls into Wasm modules, by role and outcome: `keyfun ok`. */
export type WasmTruth = Readonly<Record<string, number>>;

/** Transaction records on a disk, by state. */
export interface TransactionRecordsFound {
  readonly prepared: number;
  /** Branches that are applied or decided by an operator. */
  readonly done: number;
  readonly committing: number;
  readonly damaged: number;
}

/** Transactions of one incarnation, from its trace and from the records on its disk. */
export interface TransactionTruth {
  /** Transactions that this node began to coordinate. */
  readonly begun: number;
  /** Branches by their vote: `commit`, `read_only`, `abort`, `alone`. */
  readonly votes: Readonly<Record<string, number>>;
  /** Prepare requests refused because another transaction held a key. */
  readonly conflicts: number;
  /** Branches that inquired and received their outcome, by outcome. */
  readonly learned: Readonly<Record<string, number>>;
  /** Operators' decisions, by kind; `mixed` for those that differ from the outcome. */
  readonly byOperator: Readonly<Record<string, number>>;
  /** Records on the disk when the incarnation began. */
  readonly found: TransactionRecordsFound;
  /** The incarnation has resumed all of them. */
  readonly recovered: boolean;
  /** Parts of that disk were unreadable. */
  readonly unread: boolean;
  /** Branches whose prepare record this incarnation wrote; branches that lie prepared on the disk now. */
  readonly preparedSince: number;
  readonly preparedOnDisk: number;
  /** Branches that wait for their outcome, and of which a disk that failed to sync it may hold one. */
  readonly perhapsDecidedOnDisk: number;
  /** Branches that voted and wait for their outcome, at least and at most. */
  readonly prepared: readonly [least: number, most: number];
  /** Transactions that this node coordinates without a known decision, or not acknowledged by every branch. */
  readonly inDoubt: number;
  /** Keys locked by transactions. */
  readonly locks: number;
  /** Milliseconds of the node's own wall clock since the oldest waiting transaction began; exact if `oldestKnown`. */
  readonly oldestAgeMs: number;
  readonly oldestKnown: boolean;
  /** The longest duration of each phase so far, in microseconds of the node's own clock. */
  readonly longestUs: Readonly<Record<'prepare' | 'decision' | 'commit', number>>;
  /** False if a decision was recovered from a damaged disk: a commit may have taken longer than is known. */
  readonly committersKnown: boolean;
  /** A step was traced at this instant: the node may be between two of its own statements. */
  readonly amidst: boolean;
}

/** Requests to peers that were never sent, from the traces and compared with the wire. */
export interface RefusalTruth {
  /** Rejections for any sender: to peers of this datacenter, of others. */
  readonly local: number;
  readonly remote: number;
  /** Rejections for the dispatcher and the modules above it, by outcome and peer: `full n2`. */
  readonly byPeer: Readonly<Record<string, number>>;
  /** The peers whose numbers (`peer_idx`) the incarnation has traced, by number, with their datacenters. */
  readonly indexes: Readonly<Record<string, { readonly peer: string; readonly datacenter: string }>>;
  /** Requests that the store's driver rejected, for any sender. */
  readonly storeFull: number;
  readonly storeClosed: number;
  /**
   * Rejections reported by the plane or the dispatcher alone, or not as the wire shows; rejections as closed before the
   * node reported its stop.
   */
  readonly contradicted: number;
}

/** All expected values of one incarnation at one instant. */
export interface IncarnationTruth {
  readonly refusals: RefusalTruth;
  /** Traced changes of peers' states, by peer number, from and to: `2 NORMAL DOWN`. */
  readonly moves: Readonly<Record<string, number>>;
  readonly transactions: TransactionTruth;
  readonly wasm: WasmTruth;
  readonly clients: ClientTruth;
  readonly redis: RedisTruth;
  /** Connections to peers of this rack, of other racks of this datacenter, of other datacenters. */
  readonly beside: AskingTruth;
  readonly near: AskingTruth;
  readonly far: AskingTruth;
  readonly asked: AskedTruth;
  readonly listener: StatsListenerTruth;
  readonly store: StoreTruth;
  /**
   * Sizes of the store and of the hint store while nothing is being written. Undefined at other times, and where a disk
   * was altered or has failed, because the node's view of that is unknown.
   */
  readonly sizes: { readonly store: StoreSizes | undefined; readonly hints: StoreSizes | undefined };
  readonly antiEntropy: AntiEntropyTruth;
  /** Disk operations that failed for this incarnation; the same by `operation role failure`. */
  readonly failedOperations: number;
  readonly diskErrors: Readonly<Record<string, number>>;
  /** Places of the node's disk that a fault altered, or never made durable, in this or an earlier incarnation. */
  readonly alteredPlaces: number;
  /** Spawned tasks of this incarnation that failed. */
  readonly failedTasks: number;
  /** So far in the run, no fault was injected, no incarnation has ended, and the node has not left the ring. */
  readonly undisturbed: boolean;
  /** `transaction_read_wait_ms` is so short that a transaction without any fault may outlast it. */
  readonly shortReadWait: boolean;
  /**
   * How many other nodes this one knows, at least and at most. Where the membership changes, the node learns of members
   * gradually: at least those whose state it changed in this incarnation and that have not left; at the end, all
   * expected members.
   */
  readonly peersMin: number;
  readonly peersMax: number;
  /** Those of them that died for good and are still members. */
  readonly peersDead: number;
  /** Ring changes that this incarnation has traced. */
  readonly ringChanges: number;
  /** The node is no initial member: before it changes the ring, it waits until members know it. */
  readonly joins: boolean;
  /** The membership changes in this run. */
  readonly moving: boolean;
  /** The membership differs from the initial one by now. */
  readonly moved: boolean;
}

/** `settled`: after the calm, when no client sends anything any more. `stopped`: gracefully, at any time. */
export type Moment = 'running' | 'settled' | 'crashed' | 'stopped';

/** The account: metrics (`counted`, `recorded`) beside expected values (`truth`). */
export interface IncarnationAccount {
  readonly node: string;
  readonly life: number;
  readonly atUs: number;
  readonly moment: Moment;
  readonly counted: readonly CountedSample[];
  /** Number of values that each histogram recorded, by its field's name. */
  readonly recorded: Readonly<Record<string, number>>;
  readonly truth: IncarnationTruth;
}
