/**
 * Which nodes ask which others about the transactions that a violation names, and what the others answer. Where a node
 * had to ask another and did not, that it did not says most. Pure.
 */
import type { Message, Recording } from './recording.ts';
import { idOf, idRecordsOf } from './client-ids.ts';
import { underId } from './message-words.ts';
import { listOf, placeOf, seconds } from './places.ts';

/** Most transactions, most questions of each. */
const transactionsMax = 2;
const questionsMax = 5;

/** Kinds of answers to a question; any to a question that is not listed. */
const answersTo: Readonly<Record<string, readonly string[]>> = {
  prepare: ['voted'],
  commitAlone: ['voted', 'ended'],
  put: ['voted', 'ended'],
  commit: ['ended'],
  redo: ['ended', 'voted'],
  inquire: ['told'],
  status: ['told'],
  forget: ['told'],
  claim: ['named', 'voted'],
  recall: ['named'],
  fence: ['fenced', 'named', 'voted'],
};

const xidForm = /^\w+-[0-9a-f]{12}-\d+$/;

/** Questions whether an idempotency key was used. */
const lookups = ['transact.recall', 'transact.claim'];
/** Most requests under an id that are shown. */
const requestsMax = 4;

/** A sentence about the idempotency key that the violation names, and one for each of its transactions. */
export function dialoguesOf(run: Recording): readonly string[] {
  return [...idRecordsOf(run), ...requestsUnderId(run), ...coordinatorsOf(run), ...aboutTransactions(run)];
}

/**
 * `Requests under the id x5/48: n3 sends commitAlone to n1 (3.7079 s).`, and that no recorded message asks whether the id
 * was used.
 */
function requestsUnderId(run: Recording): readonly string[] {
  const { concern, messages, messageKinds } = run;
  const id = idOf(run);
  if (id === undefined) return [];
  const endUs = concern?.atUs ?? 0;
  const all = messages.filter(({ detail, sentUs }) => sentUs <= endUs && detail === `${underId}${id}`);
  const kindOf = ({ kind }: Message): string => messageKinds[kind] ?? '';
  const told = all.slice(-requestsMax).map((one) => {
    const what = kindOf(one).slice('transact.'.length);
    return `${placeOf(run, one.from)} sends ${what} to ${placeOf(run, one.to)} (${seconds(one.sentUs)})`;
  });
  const isLookedUp = all.some((one) => lookups.includes(kindOf(one)));
  const none = isLookedUp ? '' : ' No recorded message asks whether the id was used (recall, claim).';
  return told.length === 0 && isLookedUp
    ? []
    : [`Requests under the id ${id}: ${told.length === 0 ? 'none between nodes' : told.join('; ')}.${none}`];
}

/** What became of coordinators that died, or left, before the violation and did not come back. */
function coordinatorsOf({ concern, subjects, lanes, marks, ...run }: Recording): readonly string[] {
  const endUs = concern?.atUs ?? 0;
  const names = (concern?.subjects ?? []).flatMap((subject) => {
    const name = subjects[subject] ?? '';
    return xidForm.test(name) ? [name.slice(0, name.indexOf('-'))] : [];
  });
  return [...new Set(names)].flatMap((name) => {
    const lane = lanes.findIndex((one) => one.name === name);
    const own = marks.filter((mark) => mark.lane === lane && mark.atUs <= endUs);
    const ended = own.findLast(({ kind }) => kind === 'crash' || kind === 'stop');
    const started = own.findLast(({ kind }) => kind === 'start');
    if (ended === undefined || (started !== undefined && started.atUs > ended.atUs)) return [];
    const replaced = marks.find(
      ({ kind, text, atUs }) => kind === 'fault' && atUs <= endUs && text.endsWith(` replaces ${name}`),
    );
    const by =
      replaced === undefined
        ? 'and has not started since'
        : `and ${lanes[replaced.lane]?.name ?? ''} has replaced it`;
    return [
      `${placeOf({ lanes, plan: run.plan }, lane)}, which coordinated it, died at ${seconds(ended.atUs)} ${by}.`,
    ];
  });
}

/** A sentence for each of the transactions, those named last first. */
function aboutTransactions(run: Recording): readonly string[] {
  const { concern, subjects } = run;
  const named = (concern?.subjects ?? []).filter((subject) => xidForm.test(subjects[subject] ?? ''));
  return named
    .toReversed()
    .slice(0, transactionsMax)
    .map((subject) => {
      const name = subjects[subject] ?? '';
      const questions = questionsAbout(run, subject, run.concern?.atUs ?? 0);
      // What was answered too early, or is contradicted later, is asked about later.
      const later = questions.length > 0 ? [] : questionsAbout(run, subject, Number.POSITIVE_INFINITY);
      if (later.length > 0)
        return `About ${name}, only after that: ${later.slice(0, questionsMax).join('; ')}.`;
      if (questions.length === 0)
        return `No recorded message of one node to another asks about ${name} until then.`;
      return `About ${name}: ${questions.slice(-questionsMax).join('; ')}.`;
    });
}

/** `n2 asks n1 (fenced, 0 claims) and n3 (no answer until then): transact.fence (2.3384 s)`. */
function questionsAbout(run: Recording, subject: number, endUs: number): readonly string[] {
  const kindOf = ({ kind }: Message): string => run.messageKinds[kind] ?? '';
  const about = run.messages.filter((message) => message.about.includes(subject) && message.sentUs <= endUs);
  const groups = new Map<string, Message[]>();
  for (const message of about) {
    if (!kindOf(message).startsWith('transact.')) continue;
    const name = `${message.from} ${kindOf(message)}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [message]);
    else group.push(message);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const what = kindOf(first).slice('transact.'.length);
    const isAnswer = (kind: string): boolean =>
      kind === 'failed' ||
      (kind.startsWith('transacted.') &&
        (answersTo[what]?.includes(kind.slice('transacted.'.length)) ?? true));
    const peers = [...new Set(group.map(({ to }) => to))].map((to) => {
      const sentUs = group.find((message) => message.to === to)?.sentUs ?? 0;
      const answer = about.find(
        (message) =>
          message.from === to &&
          message.to === first.from &&
          message.sentUs >= sentUs &&
          message.arrivedUs >= 0 &&
          message.arrivedUs <= endUs &&
          isAnswer(kindOf(message)),
      );
      const said = answer === undefined ? 'no answer until then' : (answer.detail ?? kindOf(answer));
      return `${placeOf(run, to)} (${said})`;
    });
    return [`at ${seconds(first.sentUs)} ${placeOf(run, first.from)} sends ${what} to ${listOf(peers)}`];
  });
}
