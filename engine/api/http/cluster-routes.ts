/**
 * The operator's endpoints of the cluster: `GET /cluster` shows the members, their states and the ring changes under
 * way. `POST /cluster/leave` (`?force=true`) starts this node's leave. `POST /cluster/standby` (`?return=true`) makes
 * this node take no new work of clients, or take it again. Errors are problems of RFC 9457.
 */
import { asLockstepError } from '../../base/errors.ts';
import type { HttpRequest, HttpResponse, HttpRoute } from '../../io/http.ts';
import { jsonAnswer, problemAnswer } from './problems.ts';

/** One member as this node knows it. */
export interface MemberView {
  readonly node: string;
  readonly datacenter: string;
  readonly rack: string;
  readonly address: string;
  readonly state: string;
  /** The step of its ring change. */
  readonly move: string;
  /** Whether reads use it. */
  readonly owns: boolean;
  /** Its share of its rack's tokens, in thousandths of a per cent. */
  readonly share: number;
  readonly tokens: number;
}

/** A member that refuses this node, or is refused by it. */
export interface RefusedMember {
  readonly node: string;
  /** A word for programs, for example `version`. */
  readonly reason: string;
  /** What is wrong and what is allowed. */
  readonly detail: string;
}

/** The answer of `GET /cluster`. */
export interface ClusterView {
  readonly node: string;
  /**
   * State of this node's own store. `failed`: a write or a sync failed, so the node takes no writes until it restarts.
   */
  readonly store: 'open' | 'failed' | 'closed';
  /**
   * State of the store in which this node keeps writes for others that missed them. `failed`: it keeps no more of them,
   * and removes none of those that it has, until it restarts or a full disk has room. Absent if hinted handoff is
   * off, and in answers of builds that do not state it.
   */
  readonly hint_store?: 'open' | 'failed' | 'closed';
  /** The ring view: nodes that show the same fingerprint agree on who owns what. */
  readonly view: string;
  readonly members: readonly MemberView[];
  /** Progress of this node's own ring change. */
  readonly transfer: {
    readonly ranges: number;
    readonly ranges_left: number;
    readonly keys_in: number;
    readonly bytes_in: number;
    readonly keys_out: number;
    readonly bytes_out: number;
    readonly waits_for: {
      /** Members that are down, or have not reached the current step yet. */
      readonly members: readonly string[];
      /** What the node waits for before it leaves: its undecided transactions, and hints that it stores for others. */
      readonly transactions: number;
      readonly hints: number;
    };
  };
  /** Seconds for which this node has held back a new ring view (0: not held), and the transactions it waits for. */
  readonly held: { readonly seconds: number; readonly transactions: readonly string[] };
  /**
   * The members to which this node has no connection, because one of the two refuses the other. Absent in answers of
   * builds that do not state it.
   */
  readonly refused?: readonly RefusedMember[];
  /**
   * The other members to which this node has no connection now, whatever their state: a member is DOWN only once it has
   * been silent for some time. Absent in answers of builds that do not state it.
   */
  readonly unconnected?: readonly string[];
}

/** The cluster as the endpoints use it; `node/` implements it. */
export interface ClusterControl {
  describe(): ClusterView;
  /** Resolves once the node's leave is durable. Throws `Conflict`; rejects with `StorageFailed`. */
  leave(force: boolean): Promise<void>;
  /** Resolves once STANDBY, or with `ends` the return from it, is durable. Throws and rejects as `leave` does. */
  standby(ends: boolean): Promise<void>;
}

/** The routes of this module. */
export function clusterRoutes(control: ClusterControl): readonly HttpRoute[] {
  return [
    { method: 'GET', path: '/cluster', handle: () => jsonAnswer(200, control.describe()) },
    { method: 'POST', path: '/cluster/leave', handle: (request) => leave(control, request) },
    { method: 'POST', path: '/cluster/standby', handle: (request) => standby(control, request) },
  ];
}

async function leave(control: ClusterControl, { query }: HttpRequest): Promise<HttpResponse> {
  try {
    await control.leave(query.get('force') === 'true');
    return jsonAnswer(202, control.describe());
  } catch (error) {
    return problemAnswer(asLockstepError(error));
  }
}

async function standby(control: ClusterControl, { query }: HttpRequest): Promise<HttpResponse> {
  try {
    await control.standby(query.get('return') === 'true');
    return jsonAnswer(200, control.describe());
  } catch (error) {
    return problemAnswer(asLockstepError(error));
  }
}
