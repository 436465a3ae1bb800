/** The dependencies of the HTTP interface: what the node configures, and what the handlers work with. */
import type { NodeId } from '../../base/ids.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import type { Gate } from '../../auth/gate.ts';
import type { Dispatcher } from '../../replication/requests.ts';
import type { BodyBudget } from '../../io/http.ts';
import type { Io } from '../../io/io.ts';
import type { AnsweredHosts } from '../answered-hosts.ts';
import type { GuardedRoute } from '../http-guard.ts';
import type { BucketAdmin } from '../bucket-admin.ts';
import type { ClientObserver } from '../client-observer.ts';
import type { ContentLimits } from '../content-limits.ts';
import type { ReplicaTerms } from '../../replication/needs.ts';
import type { NameLister } from '../name-lister.ts';
import type { KnowsType } from '../objects.ts';

/** What the node chooses for its HTTP listener. */
export interface HttpOptions {
  readonly io: Pick<Io, 'clock' | 'log' | 'random'>;
  readonly gate: Gate;
  readonly hosts: AnsweredHosts;
  readonly terms: ReplicaTerms;
  readonly limits: ContentLimits;
  readonly knowsType: KnowsType;
  readonly buckets: BucketAdmin;
  readonly lister: NameLister;
  /** The most bytes of a request's body; absent: the largest value's. */
  readonly bodyBytesMax?: number;
  /** The most open connections. */
  readonly connectionCountMax: number;
  /** The most header lines of a request. */
  readonly headerLinesMax: number;
  /** Budget of the bodies of all requests that are being received. */
  readonly requests: BodyBudget;
  /** Milliseconds that a client may take to send its request. */
  readonly requestTimeoutMs: number;
  /** Milliseconds within which a client must take some of a pending answer. */
  readonly answerTimeoutMs: number;
  /** The key's replicas now, the primary first; absent: not known here. */
  readonly ownersOf?: (key: ObjectKey) => readonly NodeId[];
  /** The product's own endpoints, in addition to Riak's. */
  readonly ownRoutes?: readonly GuardedRoute[];
}

/** What the handlers work with. */
export interface HttpDependencies extends HttpOptions {
  readonly dispatcher: Dispatcher;
  readonly observer: ClientObserver;
}
