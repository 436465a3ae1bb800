/** The times that clients' requests state: how long their node may take. */

import { briefRequests } from '../plan/brief-requests.ts';

const requestsPerBrief = 3;

/** Gives the requests of one client their times. */
export class RequestTimes {
  readonly #patientMs: number;
  readonly #briefMs: number | undefined;
  #count = 0;

  /** `answerTimeoutUs`: for how long the client waits for an answer; `settings`: the plan's. */
  constructor(answerTimeoutUs: number, settings: Readonly<Record<string, unknown>>) {
    // The node must give up a little before the client does.
    this.#patientMs = Math.max(1, Math.floor((answerTimeoutUs * 3) / 4 / 1000));
    const brief = settings[briefRequests];
    this.#briefMs = typeof brief === 'number' ? brief : undefined;
  }

  /** The time of the client's next request, in milliseconds. */
  nextMs(): number {
    this.#count += 1;
    const isBrief = this.#briefMs !== undefined && this.#count % requestsPerBrief === 0;
    return isBrief ? this.#briefMs : this.#patientMs;
  }
}
