/**
 * The answers of the console's endpoints as types, which the console's page reads, too. Times are milliseconds since
 * the epoch unless a name says otherwise.
 */
import type { Role } from '../../auth/role.ts';
import type { ClusterView } from './cluster-routes.ts';

/** Who owns the token space: one line per rack, since every rack holds one whole ring. */
export interface RingPicture {
  /** The token space is shown as this many equal slots. */
  readonly slots: number;
  readonly racks: readonly {
    readonly datacenter: string;
    readonly rack: string;
    /** Runs of slots in the order of tokens: the owner of a run's slots, and how many they are. */
    readonly runs: readonly (readonly [node: string, slots: number])[];
  }[];
}

/** One transaction in doubt on this node. */
export interface ConsoleInDoubt {
  readonly transaction_id: string;
  readonly role: 'coordinator' | 'branch';
  readonly state: string;
  readonly coordinator: string;
  readonly branches: readonly string[];
  readonly lost: readonly string[];
  readonly age_ms: number;
}

/** One combination of labels of the request histogram. */
export interface LatencySeries {
  readonly protocol: string;
  readonly operation: string;
  /** Cumulative: how many requests took at most as long as the bucket of the same index, the open last one included. */
  readonly counts: readonly number[];
}

/** Requests for objects: this node's latencies as `/metrics` has them. */
export interface ConsoleLatencies {
  /** Upper ends of the buckets in seconds, without the open last one. */
  readonly ends: readonly number[];
  readonly series: readonly LatencySeries[];
  /** Of the last five to ten minutes, in microseconds. */
  readonly recent: {
    readonly mean: number;
    readonly p95: number;
    readonly p99: number;
    readonly p999: number;
    readonly max: number;
    readonly count: number;
  };
}

/** What a node reports of itself and of the cluster; each part is bounded. */
export interface NodeReport {
  readonly node: string;
  readonly version: string;
  readonly time_ms: number;
  readonly uptime_seconds: number;
  /** Why the node cannot serve its share; empty if it can. */
  readonly not_ready: readonly { readonly code: string; readonly detail: string }[];
  readonly cluster: ClusterView;
  readonly ring: RingPicture;
  readonly in_doubt: { readonly total: number; readonly transactions: readonly ConsoleInDoubt[] };
  /** As `GET /aae` shows it; null if anti-entropy is off. */
  readonly anti_entropy: object | null;
  /** Sums of metrics families by name, and by `name.label` of those with one label. */
  readonly counts: Readonly<Record<string, number>>;
  readonly latencies: ConsoleLatencies;
}

/** `GET /console/overview`. */
export interface ConsoleOverview extends NodeReport {
  readonly client: {
    readonly role: Role;
    /** Whether the client may resolve transactions and change the cluster. */
    readonly may_act: boolean;
  };
}

/** `GET /console/versions`: what each member speaks. */
export interface ConsoleVersions {
  readonly members: readonly {
    readonly node: string;
    readonly reached: boolean;
    readonly max?: number;
    readonly minimum?: number;
    readonly detail?: string;
  }[];
}

/** A bucket's or a key's name: for people, and percent-encoded for paths. Names are bytes. */
export interface ShownName {
  readonly text: string;
  readonly path: string;
}

/** `GET /console/types/:type/buckets`. */
export interface ConsoleBuckets {
  readonly buckets: readonly ShownName[];
  /** Whether these are all: the listing ends early at its limits of names and of time. */
  readonly complete: boolean;
}

/** `GET /console/types/:type/buckets/:bucket/keys`: one page of live keys in the order of their tokens. */
export interface ConsoleKeys {
  readonly keys: readonly ShownName[];
  /** What `from` of the next page is; null: there is none. */
  readonly next: number | null;
  /** Whether the listing has reached the end. False without a next page: one token has more keys than a page. */
  readonly complete: boolean;
}

/** One write: the node that coordinated it, that node's incarnation, its counter, and the time it stands for. */
export interface ShownDot {
  readonly node: string;
  readonly incarnation: string;
  readonly counter: number;
  readonly at_ms: number;
}

/** The beginning of a value: as text, or as hexadecimal digits if its bytes are no text. */
export interface Preview {
  readonly form: 'text' | 'hex';
  readonly shown: string;
  /** Bytes that are shown. */
  readonly bytes: number;
}

/** One sibling of a key. */
export interface ShownSibling {
  readonly tag: string;
  readonly dot: ShownDot;
  readonly deleted: boolean;
  readonly last_modified_ms: number;
  readonly content_type: string;
  readonly charset: string;
  readonly content_encoding: string;
  readonly meta: readonly (readonly [name: string, value: string])[];
  readonly meta_total: number;
  readonly links: number;
  readonly bytes: number;
  readonly preview: Preview;
}

/** `GET /console/types/:type/buckets/:bucket/keys/:key`: a key's siblings and their causal context. */
export interface ConsoleObject {
  readonly type: ShownName;
  readonly bucket: ShownName;
  readonly key: ShownName;
  /** In order of preference; the first is the primary. */
  readonly owners: readonly string[];
  /** Per incarnation of a node: the last of its writes that the object knows. */
  readonly context: readonly ShownDot[];
  readonly context_total: number;
  /** As `X-Riak-Vclock` carries it. */
  readonly context_base64: string;
  readonly siblings: readonly ShownSibling[];
  readonly siblings_total: number;
}
