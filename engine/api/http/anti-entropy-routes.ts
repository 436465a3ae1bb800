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

/** `GET /aae` and `POST /aae/sweep`; `admin` is undefined if anti-entropy is off. */
export function antiEntropyRoutes(admin: AntiEntropyAdmin | undefined): readonly HttpRoute[] {
  return [
    {
      method: 'GET',
      path: '/aae',
      handle: () => (admin === undefined ? off() : jsonAnswer(200, admin.describe())),
    },
    { method: 'POST', path: '/aae/sweep', handle: () => (admin === undefined ? off() : startSweep(admin)) },
  ];
}

function startSweep(admin: AntiEntropyAdmin): HttpResponse {
  if (admin.sweep()) return jsonAnswer(202, { sweep: 'started' });
  const detail = 'a full sweep is under way already; GET /aae tells how far it is';
  return problemAnswer(new LockstepError('Conflict', detail));
}

function off(): HttpResponse {
  const detail = 'anti-entropy is off on this node; the setting aae_enabled switches it on';
  return problemAnswer(new LockstepError('NotFound', detail));
}
