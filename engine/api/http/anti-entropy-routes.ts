/** The operator's endpoints of anti-entropy: its state, and the start of a full sweep. */
import { LockstepError } from '../../base/errors.ts';
import type { HttpResponse, HttpRoute } from '../../io/http.ts';
import { jsonAnswer, problemAnswer } from './problems.ts';

/** Anti-entropy as the endpoints use it. */
export interface AntiEntropyAdmin {
  /** The state, as a value for JSON. */
  describe(): object;
  /** Starts a full sweep; false if one is already under way. */
  sweep(): boolean;
}

/** `GET /aae` and `POST /aae/sweep`; `desk` is undefined if anti-entropy is off. */
export function antiEntropyRoutes(desk: AntiEntropyAdmin | undefined): readonly HttpRoute[] {
  return [
    {
      method: 'GET',
      path: '/aae',
      handle: () => (desk === undefined ? off() : jsonAnswer(200, desk.describe())),
    },
    { method: 'POST', path: '/aae/sweep', handle: () => (desk === undefined ? off() : startSweep(desk)) },
  ];
}

function startSweep(desk: AntiEntropyAdmin): HttpResponse {
  if (desk.sweep()) return jsonAnswer(202, { sweep: 'started' });
  const detail = 'a full sweep is under way already; GET /aae tells how far it is';
  return problemAnswer(new LockstepError('Conflict', detail));
}

function off(): HttpResponse {
  const detail = 'anti-entropy is off on this node; the setting aae_enabled switches it on';
  return problemAnswer(new LockstepError('NotFound', detail));
}
