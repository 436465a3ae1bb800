/**
 * The operator's endpoints: `GET /cluster`, who is in the cluster, in what state, and what moves between them;
 * `POST /cluster/leave` (`?force=true`), which begins to take this node out of it; and `POST /cluster/standby`
 * (`?return=true`), which takes it out of the way of clients, or back. Errors are problems of RFC 9457.
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
  /** How far its joining or leaving is. */
  readonly move: string;
  /** It is read. */
  readonly owns: boolean;
  /** Of its rack's tokens, in thousandths of a per cent. */
  readonly share: number;
  readonly tokens: number;
}

export interface ClusterView {
  readonly node: string;
  /** This node's own; `failed` (a write or a sync of its disk failed): it takes no writes until it is started anew. */
  readonly store: 'open' | 'failed' | 'closed';
  /** The fingerprint of who owns what: nodes that show the same one agree. */
  readonly view: string;
  readonly members: readonly MemberView[];
  /** This node's own move. */
  readonly transfer: {
    readonly ranges: number;
    readonly ranges_left: number;
    readonly keys_in: number;
    readonly bytes_in: number;
    readonly keys_out: number;
    readonly bytes_out: number;
    readonly waits_for: {
      /** Members that are away, or do not follow the present step yet. */
      readonly members: readonly string[];
      /** Before it leaves: transactions in which this node has a part, and writes that it keeps for others. */
      readonly transactions: number;
      readonly hints: number;
    };
  };
  /** This node does not follow a changed ring yet: since when, and which transactions it waits for. */
  readonly held: { readonly seconds: number; readonly transactions: readonly string[] };
}

export interface ClusterControl {
  describe(): ClusterView;
  /** Resolves once it is durable that the node leaves. Throws `Conflict`; rejects with `StorageFailed`. */
  leave(force: boolean): Promise<void>;
  /** Resolves once it is durable that the node is in STANDBY, or (`ends`) is not. Throws and rejects as `leave` does. */
  standby(ends: boolean): Promise<void>;
}

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
