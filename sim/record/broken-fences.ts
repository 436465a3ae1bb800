/**
 * Finds nodes that carry out a transaction under an idempotency key although they had answered that they fenced it:
 * nothing may be applied under it any more. Pure: it reads recordings.
 */
import { fieldsOf } from './event-words.ts';
import { underId } from './message-words.ts';
import { listOf, placeOf, seconds } from './places.ts';
import type { Mark, Message, Recording } from './recording.ts';

/** Requests that carry out, or prepare, what a client asked under its id. */
const carriesOut = ['transact.prepare', 'transact.commitAlone', 'transact.put'];
/** Answers by which a node has done so, with what they say. */
const consents: Readonly<Record<string, RegExp>> = {
  'transacted.voted': /^commit/,
  'transacted.ended': /./,
};
/** Most that are shown. */
const toldMax = 2;

/**
 * A sentence for each node and id. Up to the violation, and for the transactions that it names in the whole run: a check
 * may find fault with the first of two answers that contradict each other.
 */
export function brokenFencesOf(run: Recording): readonly string[] {
  const endUs = run.concern?.atUs ?? Number.POSITIVE_INFINITY;
  const named = run.concern?.subjects ?? [];
  const isConcerned = (one: Message): boolean => one.sentUs <= endUs || named.includes(xidOf(one));
  const kindOf = ({ kind }: Message): string => run.messageKinds[kind] ?? '';
  /** By node and id: when it first answered that the id is fenced there. */
  const fenced = new Map<string, number>();
  const told = new Map<string, string>();
  const answerTo = (asked: Message, isAnswer: (message: Message) => boolean): Message | undefined =>
    run.messages.find(
      (one) =>
        one.from === asked.to &&
        one.to === asked.from &&
        one.sentUs >= asked.arrivedUs &&
        xidOf(one) === xidOf(asked) &&
        isAnswer(one),
    );
  for (const message of run.messages) {
    if (message.arrivedUs < 0) continue;
    const id =
      message.detail?.startsWith(underId) === true ? message.detail.slice(underId.length) : undefined;
    if (id === undefined) continue;
    const name = `${message.to} ${id}`;
    if (kindOf(message) === 'transact.fence') {
      const answer = answerTo(message, (one) => kindOf(one) === 'transacted.fenced');
      if (answer !== undefined && !fenced.has(name)) fenced.set(name, answer.sentUs);
    } else if (carriesOut.includes(kindOf(message))) {
      const sinceUs = fenced.get(name);
      if (sinceUs === undefined || message.arrivedUs <= sinceUs || told.has(name)) continue;
      if (!isConcerned(message)) continue;
      const answer = answerTo(message, (one) => consents[kindOf(one)]?.test(one.detail ?? '') === true);
      if (answer === undefined) continue;
      const xid = run.subjects[xidOf(message)] ?? 'a transaction';
      const node = placeOf(run, message.to);
      told.set(
        name,
        `Out of order: at ${seconds(answer.sentUs)} ${node} carries out ${xid} under the id ${id} (${kindOf(message).slice('transact.'.length)}: ${answer.detail ?? ''}), although it has answered that the id is fenced (${seconds(sinceUs)}).`,
      );
    }
  }
  return [...told.values()].slice(0, toldMax);
}

/**
 * A sentence for each id that a node calls ruled out for the violation's transactions: which other nodes had consented
 * by then. Pure.
 */
export function ruledOutOf(run: Recording): readonly string[] {
  const { concern, messages, messageKinds, subjects, marks } = run;
  const named = new Set((concern?.subjects ?? []).map((subject) => subjects[subject] ?? ''));
  const kindOf = ({ kind }: Message): string => messageKinds[kind] ?? '';
  const sentenceOf = ({ lane, atUs }: Mark, id: string, xid: string): string => {
    const place = (one: number): string => placeOf(run, one);
    const until = messages.filter(({ sentUs }) => sentUs <= atUs);
    const asked = until.filter(
      (one) => one.from === lane && kindOf(one) === 'transact.fence' && one.detail === `${underId}${id}`,
    );
    const answers = until.filter(
      (one) =>
        one.to === lane &&
        kindOf(one) === 'transacted.fenced' &&
        one.arrivedUs >= 0 &&
        one.arrivedUs <= atUs &&
        subjects[xidOf(one)] === xid,
    );
    // Nodes that others ask about the id own it.
    const owners = new Set(
      until
        .filter((one) => ownersAreAsked.includes(kindOf(one)) && one.detail === `${underId}${id}`)
        .map(({ to }) => to),
    );
    const consenting = [...new Set(answers.map(({ from }) => from))];
    const silent = [...new Set(asked.map(({ to }) => to))].filter((one) => !consenting.includes(one));
    const otherwise = (from: number): string => {
      const answer = until.find(
        (one) =>
          one.from === from &&
          one.to === lane &&
          one.arrivedUs >= 0 &&
          one.arrivedUs <= atUs &&
          ['transacted.named', 'transacted.voted'].includes(kindOf(one)) &&
          subjects[xidOf(one)] === xid,
      );
      return answer === undefined
        ? `${place(from)} not`
        : `${place(from)} has answered: ${answer.detail ?? ''}`;
    };
    const unasked = [...owners].filter((one) => one !== lane && !asked.some(({ to }) => to === one));
    const parts = [
      consenting.length === 0
        ? 'no other node has answered that it fences it'
        : `${listOf(consenting.map(place))} ${consenting.length === 1 ? 'has answered that it fences it' : 'have answered that they fence it'}`,
      ...silent.map(otherwise),
      unasked.length === 0 ? '' : `${listOf(unasked.map(place))} not asked, though asked about the id before`,
    ].filter(Boolean);
    return `At ${seconds(atUs)} ${place(lane)} calls every other attempt under the id ${id} ruled out, after its abort of ${xid}: ${parts.join('; ')}.`;
  };
  const fenced = new Set(
    marks
      .filter(({ text }) => text.startsWith('xa.id.fenced '))
      .map(({ text }) => fieldsOf(text).get('xid') ?? ''),
  );
  const unfenced = marks.flatMap(({ lane, atUs, text }) => {
    if (!text.startsWith('xa.c.begin ')) return [];
    const fields = fieldsOf(text);
    const [xid = '', id = ''] = [fields.get('xid'), fields.get('client')];
    if (id === '' || fenced.has(xid) || !(concern?.text ?? '').includes(`${xid} aborted`)) return [];
    return [
      `${xid}, which ${placeOf(run, lane)} begins under the id ${id} at ${seconds(atUs)}, is called aborted; no node asks the owners to rule out the other attempts under that id for it.`,
    ];
  });
  const ruledOut = marks
    .flatMap((mark) => {
      if (!mark.text.startsWith('xa.id.fenced ')) return [];
      const fields = fieldsOf(mark.text);
      const [xid = '', id = ''] = [fields.get('xid'), fields.get('client')];
      return fields.get('verdict') === 'final' && named.has(xid) ? [sentenceOf(mark, id, xid)] : [];
    })
    .slice(0, toldMax);
  return [...unfenced, ...ruledOut].slice(0, toldMax);
}

/** Requests that go to the owners of an id. */
const ownersAreAsked = ['transact.claim', 'transact.recall', 'transact.fence'];

/** The transaction that a message is about: it is named before the keys. */
function xidOf({ about }: Message): number {
  return about[0] ?? -1;
}
