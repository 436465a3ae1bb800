/**
 * The account of one life of one node at one instant: what the node counts, beside what the world knows. The equations
 * (equations.ts) compare the two. Plain data.
 */

/** Numbers that a node counts, by family and labels. */
export interface CountedSample {
  readonly family: string;
  readonly type: 'counter' | 'gauge';
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** What clients and the node said to one another, on the listeners for clients. */
export interface ClientTruth {
  /** Connections that the process holds. */
  readonly open: number;
  /** Connections that the client ended first, and those that broke or that the node cut for what came over them. */
  readonly eof: number;
  readonly broken: number;
  /** Whole requests that the process was handed. */
  readonly gets: number;
  readonly puts: number;
  readonly deletes: number;
  /** Anything else: pings, malformed requests, bytes that are no frame. */
  readonly others: number;
  /** Answers to those that the process wrote, errors included. */
  readonly answers: number;
  /** Values in answers to gets. */
  readonly valuesRead: number;
  /**
   * Error answers to anything, by code; those to what reads (jobs and listings included); those to what writes
   * (transactions and all that reads nothing included). The answer that says how a transaction ended is no error answer.
   */
  readonly errors: Readonly<Record<string, number>>;
  readonly getErrors: Readonly<Record<string, number>>;
  readonly writeErrors: Readonly<Record<string, number>>;
  /** Error answers by code that say, beyond it, that nothing was done. */
  readonly definiteErrors: Readonly<Record<string, number>>;
  /** What read, and what wrote, and had no answer when its connection was over: how it ended nobody outside knows. */
  readonly abandonedGets: number;
  readonly abandonedWrites: number;
  readonly jobs: JobTruth;
  /** Requests of both listeners that were answered with `Unauthorized` or `Forbidden`. */
  readonly turnedAway: number;
  /** Requests over HTTP with a token of nobody's that are counted, but not answered yet, or never. */
  readonly guesses: number;
  readonly transactions: TransactionAnswers;
}

/** Transactions of the binary protocol. */
export interface TransactionAnswers {
  readonly heard: number;
  /** Operations in them. */
  readonly operations: number;
  /** Questions about transactions; decisions of operators, and those of them that were carried out, by what they were. */
  readonly questions: number;
  readonly resolutions: number;
  readonly resolved: Readonly<Record<string, number>>;
  /** Answers, by the outcome or the reason of the abort. */
  readonly ended: Readonly<Record<string, number>>;
  /** Answered by an error: they never began. */
  readonly failed: number;
  /** Neither, when their connection was over. */
  readonly abandoned: number;
  readonly abandonedResolutions: number;
}

/** MapReduce jobs of the binary protocol. */
export interface JobTruth {
  readonly heard: number;
  /** Answered by a frame that says `done`; by an error. */
  readonly done: number;
  readonly failed: number;
  /** Neither, when their connection was over. */
  readonly abandoned: number;
}

/** What Redis clients and the node said to one another. */
export interface RedisTruth {
  readonly open: number;
  readonly eof: number;
  readonly broken: number;
  /** Commands that the process was handed; those of them that are requests for objects. */
  readonly commands: number;
  readonly reads: number;
  readonly writes: number;
  /** Replies to those requests. */
  readonly answers: number;
  /** Values received by SET and sent for GET. */
  readonly values: number;
  /** Keys of requests for more than one key. */
  readonly fragments: number;
  /** Error replies; those to what reads, and to all else, by their words. */
  readonly errors: number;
  readonly readErrors: Readonly<Record<string, number>>;
  readonly writeErrors: Readonly<Record<string, number>>;
  /** Requests whose connection was over before their reply. */
  readonly abandoned: number;
  /** Somebody wrote a value that expires: nodes then look at keys, and delete them, on their own account. */
  readonly mortal: boolean;
  /** Commands answered with NOAUTH, WRONGPASS or NOPERM. */
  readonly turnedAway: number;
  /** Commands by their field `redis_req_…`. */
  readonly fields: Readonly<Record<string, number>>;
  /** The same of commands that may not have been taken yet, or ever: they stood behind others on their connection. */
  readonly held: Pick<RedisTruth, 'commands' | 'reads' | 'writes' | 'values' | 'fields'>;
}

/** Connections of the peer plane in one direction. */
export interface LinkTruth {
  readonly open: number;
  /** Over, by how: the other side ended first, a reset, a timeout of the network, this process's own decision. */
  readonly ended: number;
  readonly reset: number;
  readonly timedOut: number;
  readonly left: number;
  /** Cut for bytes that are no frame, or ended within one. */
  readonly broken: number;
  /** The same, counted when the bytes came. */
  readonly rejected: number;
}

/** What this node asked of others. */
export interface AskingTruth extends LinkTruth {
  readonly refusedConnects: number;
  readonly timedOutConnects: number;
  /** Frames of requests that the process wrote (pings of the plane apart), and their bytes. */
  readonly requests: number;
  readonly requestBytes: number;
  /** Frames of answers that it was handed: to a request that it had not heard of yet, and others. */
  readonly answers: number;
  readonly answerBytes: number;
  readonly strayAnswers: number;
  /** Requests on open connections that no answer has come for. */
  readonly unanswered: number;
  readonly unansweredBytes: number;
  /** Messages of gossip among the requests. */
  readonly gossip: number;
  /** Bytes of their frames' bodies. */
  readonly gossipBytes: number;
  /** Writes among them that this node handed to a replica. */
  readonly forwards: number;
  /** Batches of a MapReduce phase among them. */
  readonly phases: number;
}

/** What others asked of this node. */
export interface AskedTruth extends LinkTruth {
  readonly reads: number;
  /** Of them those that were answered with why there is no answer. */
  readonly failedReads: number;
  readonly forwardedWrites: number;
  /** Batches of a MapReduce phase: heard, answered with results, and the inputs that those covered. */
  readonly phasesHeard: number;
  readonly phasesAnswered: number;
  readonly phaseInputs: number;
  /** Answers that the process wrote (pongs apart); of them those to gossip. */
  readonly answersWritten: number;
  readonly gossip: number;
  readonly gossipBytes: number;
  /** Requests heard on connections that are open, without the answers written to them. */
  readonly underWay: number;
  /** Requests heard on connections that were over before the answer: they may wait on, and are in no queue any more. */
  readonly abandoned: number;
}

export interface StatsListenerTruth {
  readonly open: number;
  /** Answers that the process wrote; of them those to who may not ask. */
  readonly answers: number;
  readonly turnedAway: number;
  /** As of clients. */
  readonly guesses: number;
}

/** What the disk was handed under the store's directory. */
export interface StoreTruth {
  /** Batches written to the log, and the bytes of keys and values in them. */
  readonly batches: number;
  readonly contentBytes: number;
  /** Writes of new batches, however many at once. */
  readonly flushes: number;
  /** Batches, and their bytes, that are either this life's or a lost life's written once more: after a rolled back disk. */
  readonly repeated: number;
  readonly repeatedBytes: number;
}

/** What the files of a store add up to. */
export interface StoreSizes {
  /** Keys whose newest record is no removal, the engine's own included. */
  readonly keys: number;
  /** Of the segments that the manifest names; of the newest records in them. */
  readonly diskBytes: number;
  readonly liveBytes: number;
}

/** Exchanges that the node began with the peers of one rack, and what came of them. */
export interface PeerExchanges {
  readonly attempts: number;
  readonly successes: number;
  readonly aborted: number;
  readonly divergentKeys: number;
  readonly repairs: number;
}

export interface AntiEntropyTruth {
  /** By `datacenter/rack`. */
  readonly byPlace: Readonly<Record<string, PeerExchanges>>;
  /** Exchanges that did not finish, by the step that they stood at. */
  readonly abortedAt: Readonly<Record<string, number>>;
  /** Exchanges begun and not over: 0 or 1. */
  readonly underWay: number;
  readonly saved: number;
  /** Whether the life found a snapshot that it had to take; that it had to refuse. */
  readonly loaded: number;
  readonly rejected: number;
  readonly refuted: number;
  /** Leaves that faults have altered on this node so far. */
  readonly alteredLeaves: number;
  /** When the last full sweep with each peer was completed, by the node's own wall clock; the sum over all peers. */
  readonly sweptSeconds: number;
  /** Segments shared with any one peer that need a rebuild now, at least and at most. */
  readonly dirty: readonly [least: number, most: number];
}

/** Calls into modules that the node told of, by role and outcome: `keyfun ok`. */
export type WasmTruth = Readonly<Record<string, number>>;

/** Records of transactions on a disk, by what they say. */
export interface TransactionRecordsFound {
  readonly prepared: number;
  /** Branches that are applied, or decided by an operator. */
  readonly done: number;
  readonly committing: number;
  readonly damaged: number;
}

/** Transactions of one life: what it told of them, weighed by the world, and what lies on its disk. */
export interface TransactionTruth {
  /** Transactions that it began to coordinate. */
  readonly begun: number;
  /** Branches by their vote: `commit`, `read_only`, `abort`, `alone`. */
  readonly votes: Readonly<Record<string, number>>;
  /** Prepares refused for a key that another transaction did hold. */
  readonly conflicts: number;
  /** Branches that asked for their outcome and heard it, by what it was. */
  readonly learned: Readonly<Record<string, number>>;
  /** Decisions of operators; `mixed`. */
  readonly byOperator: Readonly<Record<string, number>>;
  /** On the disk that the life began on. */
  readonly found: TransactionRecordsFound;
  /** It has taken all of that up. */
  readonly recovered: boolean;
  /** Parts of that disk could not be made out. */
  readonly unread: boolean;
  /** Branches whose prepare record this life has written; that lie prepared on the disk now. */
  readonly preparedSince: number;
  readonly preparedOnDisk: number;
  /** Branches that voted and wait for the outcome, at least and at most. */
  readonly prepared: readonly [least: number, most: number];
  /** Transactions of this node whose decision is not known, or not acknowledged by every branch. */
  readonly inDoubt: number;
  /** Keys that transactions hold. */
  readonly locks: number;
  /** Milliseconds of the node's own wall clock since the oldest of all that waits began; exact when `oldestKnown`. */
  readonly oldestAgeMs: number;
  readonly oldestKnown: boolean;
  /** The longest of each phase so far, by the node's own clock. */
  readonly longestUs: Readonly<Record<'prepare' | 'decision' | 'commit', number>>;
  /** Something was told at this very instant: the node may stand between two of its own lines. */
  readonly amidst: boolean;
}

/** Requests to peers that were never sent, as told and weighed against the wire. */
export interface RefusalTruth {
  /** Of everybody's: to peers of this datacenter, of others. */
  readonly local: number;
  readonly remote: number;
  /** Of the dispatcher's, and what stands on it, by outcome and peer: `full n2`. */
  readonly byPeer: Readonly<Record<string, number>>;
  /** The peers that the life has told the numbers of, by those numbers (`peer_idx`), and their datacenters. */
  readonly indexes: Readonly<Record<string, { readonly peer: string; readonly datacenter: string }>>;
  /** Requests that the store's driver refused, whoever asked. */
  readonly storeFull: number;
  readonly storeClosed: number;
  /** Told by one and not by the other, or not as the wire shows it; a store closed before the node said that it stops. */
  readonly contradicted: number;
}

export interface IncarnationTruth {
  readonly refusals: RefusalTruth;
  /** Changes of peers' states that it told of, by number, from and to: `2 NORMAL DOWN`. */
  readonly moves: Readonly<Record<string, number>>;
  readonly transactions: TransactionTruth;
  readonly wasm: WasmTruth;
  readonly clients: ClientTruth;
  readonly redis: RedisTruth;
  /** Toward peers of this rack, of other racks of this datacenter, of other datacenters. */
  readonly beside: AskingTruth;
  readonly near: AskingTruth;
  readonly far: AskingTruth;
  readonly asked: AskedTruth;
  readonly listener: StatsListenerTruth;
  readonly store: StoreTruth;
  /**
   * Of the store and of the kept hints, at moments at which nothing is being written; undefined at others, and where a
   * disk was altered or has failed: what the node makes of that is its own affair.
   */
  readonly sizes: { readonly store: StoreSizes | undefined; readonly hints: StoreSizes | undefined };
  readonly antiEntropy: AntiEntropyTruth;
  /** Disk operations that this life was told had failed; and by `operation role failure`. */
  readonly failedOperations: number;
  readonly diskErrors: Readonly<Record<string, number>>;
  /** Places of the node's disk that a fault altered, or never made durable, in this life or an earlier one. */
  readonly alteredPlaces: number;
  /** Tasks that failed in this life. */
  readonly failedTasks: number;
  /** No fault was injected in this run so far, and no life has ended. */
  readonly undisturbed: boolean;
  /**
   * How many other nodes it knows, at least and at most. Where members come and go it learns of them by and by: at least
   * those whose state it changed in this life and that have not left; at the end those who are to be there.
   */
  readonly peersMin: number;
  readonly peersMax: number;
  /** Of them, those that died for good and are still members. */
  readonly peersDead: number;
  /** Changes of the ring that this life has told of. */
  readonly ringChanges: number;
  /** A node that is no member from the beginning: before it changes the ring it waits for members to know it. */
  readonly joins: boolean;
  /** Members come and go in this run. */
  readonly moving: boolean;
  /** They are others by now than they were at first. */
  readonly moved: boolean;
}

/** `settled`: after the calm, when nobody asks anything any more. `stopped`: in order, at any time. */
export type Moment = 'running' | 'settled' | 'crashed' | 'stopped';

export interface IncarnationAccount {
  readonly node: string;
  readonly life: number;
  readonly atUs: number;
  readonly moment: Moment;
  readonly counted: readonly CountedSample[];
  /** Values recorded by each histogram, by its field's name. */
  readonly recorded: Readonly<Record<string, number>>;
  readonly truth: IncarnationTruth;
}
