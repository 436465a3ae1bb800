/** What operators see of anti-entropy, and the one thing that they may ask of it. */
import { LockstepError } from '../../base/errors.ts';
import type { HttpResponse, HttpRoute } from '../../io/http.ts';
import { jsonAnswer, problemAnswer } from './problems.ts';

/** Anti-entropy as operators need it. */
export interface AntiEntropyAdmin {
  /** A value for JSON. */
  describe(): object;
  /** A full sweep begins; false: one is under way already. */
  sweep(): boolean;
}

/** `GET /aae` and `POST /aae/sweep`; `desk` is undefined where anti-entropy is off. */
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
