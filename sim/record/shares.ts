/**
 * How a node shares a job or a listing among its peers: how many inputs it gives each, and how many results or names it
 * gets back. Pure.
 */
import { lacksIt } from './message-words.ts';
import { handleOf, placeOf } from './places.ts';
import type { Message, RecordedOperation, Recording } from './recording.ts';

/** What one peer was given and gave, in the time of an operation. */
interface Share {
  readonly lane: number;
  readonly requests: number;
  /** Inputs of a job; 0 in a listing. */
  readonly inputs: number;
  readonly answers: number;
  /** Keys of the inputs. */
  readonly keys: readonly number[];
  /** Results or names. */
  readonly results: number;
  /** What the peer's most telling answer says, in parentheses. */
  readonly notable: string;
}

/** Work that a node shares: the kinds of requests and answers, and how sentences name it. */
interface SharedWork {
  readonly request: string;
  readonly answer: string;
  readonly title: string;
  readonly results: string;
}

const sharedWorks: readonly SharedWork[] = [
  { request: 'listNames', answer: 'namesListed', title: 'The names', results: 'names' },
  { request: 'mapPhase', answer: 'phaseMapped', title: 'The shares', results: 'results' },
];

/** The sentences about the shares of an operation, of its listing first; none where it was not shared. */
export function sharesOf(run: Recording, operation: RecordedOperation): readonly string[] {
  const who = handleOf(run, operation);
  return sharedWorks.flatMap((work) => {
    const all = allShares(run, operation, work);
    const told = all.map((one) => {
      const { lane, requests, inputs, answers, results, notable } = one;
      const given = inputs > 0 ? `${inputs} inputs` : `${requests} requests`;
      const got = answers === 0 ? 'nothing back' : `${results} ${work.results} back`;
      return `${placeOf(run, lane)} ${given}, ${got}${notable}${lostOf(run, operation, one)}`;
    });
    if (told.length === 0) return [];
    const by = placeOf(run, operation.node);
    return [`${work.title} of ${who}, by ${by}: ${told.join('; ')}.${totalOf(all, operation)}`];
  });
}

/**
 * Where the client's answer tells of fewer of a peer's inputs than the peer gave results: the answer lost them at the
 * node that the client asked.
 */
function lostOf(
  { concern, subjects }: Recording,
  { id }: RecordedOperation,
  { results, inputs, keys }: Share,
): string {
  const [, answered] = /, it tells of ([^:]*)/.exec(concern?.text ?? '') ?? [];
  if (answered === undefined || concern?.text.startsWith(`${id} `) !== true || results > inputs) return '';
  const names = new Set(answered.split(' ').map((name) => name.slice(name.lastIndexOf('/') + 1)));
  const count = keys.filter((key) => names.has(subjects[key] ?? '')).length;
  return count >= results ? '' : `, of which the client's answer has ${count}`;
}

/** What all peers gave; of results beside what the client was answered, where each input gives at most one. */
function totalOf(all: readonly Share[], { outcome, text }: RecordedOperation): string {
  const results = all.reduce((total, one) => total + one.results, 0);
  const count = outcome === 'ok' ? /, (\d+) keys$/.exec(text)?.[1] : undefined;
  const isOneEach = all.every((one) => one.results <= one.inputs);
  if (count === undefined || !isOneEach || results <= Number(count))
    return all.length < 2 ? '' : ` In all ${results} back from peers.`;
  return ` In all ${results} back from peers; the client is answered ${count}, ${results - Number(count)} fewer.`;
}

/** The shares of the node's peers while the operation ran; other work of the node at that time counts, too. */
function allShares(
  run: Recording,
  { node, invokedUs, completedUs }: RecordedOperation,
  { request, answer }: SharedWork,
): readonly Share[] {
  const endUs = completedUs < 0 ? Number.POSITIVE_INFINITY : completedUs;
  const isWithin = (atUs: number): boolean => atUs >= invokedUs && atUs <= endUs;
  const kindOf = ({ kind }: Message): string => run.messageKinds[kind] ?? '';
  const asked = run.messages.filter(
    (message) => message.from === node && isWithin(message.sentUs) && kindOf(message) === request,
  );
  const given = run.messages.filter(
    (message) =>
      message.to === node && isWithin(message.arrivedUs) && [answer, 'failed'].includes(kindOf(message)),
  );
  return [...new Set(asked.map(({ to }) => to))].map((lane) => {
    const requests = asked.filter(({ to }) => to === lane);
    const answers = given.filter(({ from }) => from === lane);
    return {
      lane,
      requests: requests.length,
      inputs: sum(requests),
      keys: [...new Set(requests.flatMap(({ about }) => about))],
      answers: answers.length,
      results: sum(answers),
      notable: notableOf(answers),
    };
  });
}

/** The last answer; of answers that lack what they name, the first. */
function notableOf(answers: readonly Message[]): string {
  const lacking = answers.find(({ detail }) => detail?.includes(lacksIt));
  const detail = lacking?.detail ?? answers.at(-1)?.detail ?? '';
  if (detail === '') return '';
  return lacking === undefined ? ` (last: ${detail})` : ` (one answer: ${detail})`;
}

function sum(messages: readonly Message[]): number {
  return messages.reduce((total, { items = 0 }) => total + items, 0);
}
