/**
 * How a node shares a job or a listing among its peers: how many inputs it gives each, and how many results or names it
 * gets back. Pure.
 */
import { handleOf, placeOf } from './places.ts';
import type { Message, RecordedOperation, Recording } from './recording.ts';

/** What one peer was given and gave, in the time of an operation. */
interface Share {
  readonly lane: number;
  readonly requests: number;
  /** Inputs of a job; 0 in a listing. */
  readonly inputs: number;
  readonly answers: number;
  /** Results or names. */
  readonly results: number;
  /** What the peer's last answer says. */
  readonly last: string;
}

/** Requests of work that is shared, with their answers. */
const sharedWork: Readonly<Record<string, string>> = { mapPhase: 'phaseMapped', listNames: 'namesListed' };

/** The sentence about the shares of an operation; none where it was not shared. */
export function sharesOf(run: Recording, operation: RecordedOperation): readonly string[] {
  const all = allShares(run, operation);
  const told = all.map(({ lane, requests, inputs, answers, results, last }) => {
    const isJob = inputs > 0;
    const given = isJob ? `${inputs} inputs` : `${requests} requests`;
    const got = answers === 0 ? 'nothing back' : `${results} ${isJob ? 'results' : 'names'} back`;
    return `${placeOf(run, lane)} ${given}, ${got}${last === '' ? '' : ` (last: ${last})`}`;
  });
  const who = handleOf(run, operation);
  return told.length === 0
    ? []
    : [`The shares of ${who}, by ${placeOf(run, operation.node)}: ${told.join('; ')}.${totalOf(all)}`];
}

function totalOf(all: readonly Share[]): string {
  if (all.length < 2) return '';
  const results = all.reduce((total, one) => total + one.results, 0);
  return ` In all ${results} back from peers.`;
}

/** The shares of the node's peers while the operation ran; other work of the node at that time counts, too. */
function allShares(run: Recording, { node, invokedUs, completedUs }: RecordedOperation): readonly Share[] {
  const endUs = completedUs < 0 ? Number.POSITIVE_INFINITY : completedUs;
  const isWithin = (atUs: number): boolean => atUs >= invokedUs && atUs <= endUs;
  const kindOf = ({ kind }: Message): string => run.messageKinds[kind] ?? '';
  const asked = run.messages.filter(
    (message) =>
      message.from === node && isWithin(message.sentUs) && Object.hasOwn(sharedWork, kindOf(message)),
  );
  const given = run.messages.filter(
    (message) =>
      message.to === node &&
      isWithin(message.arrivedUs) &&
      [...Object.values(sharedWork), 'failed'].includes(kindOf(message)),
  );
  return [...new Set(asked.map(({ to }) => to))].map((lane) => {
    const requests = asked.filter(({ to }) => to === lane);
    const answers = given.filter(({ from }) => from === lane);
    return {
      lane,
      requests: requests.length,
      inputs: sum(requests),
      answers: answers.length,
      results: sum(answers),
      last: answers.at(-1)?.detail ?? '',
    };
  });
}

function sum(messages: readonly Message[]): number {
  return messages.reduce((total, { items = 0 }) => total + items, 0);
}
