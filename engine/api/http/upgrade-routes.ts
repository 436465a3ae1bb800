/** The operator's endpoints of upgrades: which versions the members speak, and the cluster's minimum. */
import { asLockstepError } from '../../base/errors.ts';
import type { HttpResponse, HttpRoute } from '../../io/http.ts';
import { jsonAnswer, problemAnswer } from './problems.ts';

/** Upgrades as the endpoints use them; `node/` implements them. */
export interface UpgradeAdmin {
  /** The versions of this node and of each member, as a value for JSON. */
  describe(): Promise<object>;
  /** Raises the cluster's minimum to this node's version, and describes it. Rejects with `Conflict` or `NoQuorum`. */
  finalize(): Promise<object>;
}

/** `GET /upgrade` and `POST /upgrade/finalize`. */
export function upgradeRoutes(admin: UpgradeAdmin): readonly HttpRoute[] {
  return [
    { method: 'GET', path: '/upgrade', handle: () => answered(() => admin.describe()) },
    { method: 'POST', path: '/upgrade/finalize', handle: () => answered(() => admin.finalize()) },
  ];
}

async function answered(ask: () => Promise<object>): Promise<HttpResponse> {
  try {
    return jsonAnswer(200, await ask());
  } catch (error) {
    return problemAnswer(asLockstepError(error));
  }
}
