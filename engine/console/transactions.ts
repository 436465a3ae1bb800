/**
 * The transactions in doubt, what each member knows of one, and an admin's decision over it. A decision is sent only
 * from a dialog that shows what the members know and names the transaction.
 */
import type { ConsoleInDoubt, ConsoleOverview } from '../api/http/console-answers.ts';
import { confirmed } from './confirm.ts';
import { begin, facts, h, table } from './dom.ts';
import { act, failureText, getJson } from './node-client.ts';
import { timeText } from './numbers.ts';

/** What one member knows of a transaction (`GET /transactions/ID?members=true`). */
interface MemberKnowledge {
  readonly node: string;
  readonly role: string;
  readonly knows: string;
}

const knowledgeTexts: Readonly<Record<string, string>> = {
  committed: 'that it is committed',
  aborted: 'that it is aborted',
  undecided: 'that it is not decided yet, or holds a prepared branch of it',
  unknown: 'nothing: it has no record of it',
  forgotten: 'that its record may be lost',
  unreachable: '(it does not answer)',
};

/** A survey waits for members that do not answer. */
const surveyMsMax = 30_000;

const decisions = {
  commit: 'commit the branch that is prepared here',
  rollback: 'roll back the branch that is prepared here',
  abandon: 'stop waiting for lost branches, or drop a decision kept for a coordinator that is gone',
} as const;

/** The list of transactions in doubt, with the buttons of decisions for a client that may act. */
export function inDoubtList(
  { in_doubt: { total, transactions }, client, time_ms: now }: ConsoleOverview,
  onDone: () => void,
): readonly HTMLElement[] {
  if (total === 0) return [h('p', {}, 'No transaction is in doubt on this node.')];
  const more = total - transactions.length;
  return [
    ...transactions.map((one) => doubtView(one, now, client.may_act, onDone)),
    ...(more > 0 ? [h('p', {}, `… and ${more} more.`)] : []),
  ];
}

function doubtView(one: ConsoleInDoubt, now: number, mayAct: boolean, onDone: () => void): HTMLElement {
  const knowledge = h('div', { 'aria-live': 'polite' });
  const ask = h(
    'button',
    { type: 'button', onclick: () => begin(survey(one, knowledge)) },
    'Who knows what?',
  );
  const buttons = mayAct ? decisionButtons(one, onDone) : [];
  const lost = one.lost.length === 0 ? '' : `; lost: ${one.lost.join(', ')}`;
  return h(
    'article',
    { class: 'card' },
    h('h3', {}, h('code', {}, one.transaction_id)),
    facts([
      ['Here', `${one.role}, ${one.state}${lost}`],
      ['Coordinator', one.coordinator],
      ['Branches', one.branches.length === 0 ? 'not known here' : one.branches.join(', ')],
      ['Since', timeText(now - one.age_ms)],
    ]),
    h('div', {}, ask, ...buttons),
    knowledge,
  );
}

function decisionButtons(one: ConsoleInDoubt, onDone: () => void): readonly HTMLElement[] {
  const offered = (Object.keys(decisions) as (keyof typeof decisions)[]).filter((decision) =>
    one.role === 'branch' ? true : decision === 'abandon',
  );
  return offered.map((decision) =>
    h('button', { type: 'button', onclick: () => begin(decide(one, decision, onDone)) }, `${decision}…`),
  );
}

async function knowledgeOf({ transaction_id: id }: ConsoleInDoubt): Promise<HTMLElement> {
  const path = `/transactions/${encodeURIComponent(id)}?members=true`;
  const { members } = await getJson<{ readonly members: readonly MemberKnowledge[] }>(path, surveyMsMax);
  const rows = members.map(({ node, role, knows }) => [node, role, knowledgeTexts[knows] ?? knows]);
  return table(`What each member knows of ${id}`, ['Node', 'As', 'Knows'], rows);
}

async function survey(one: ConsoleInDoubt, into: HTMLElement): Promise<void> {
  into.replaceChildren('The members are asked …');
  try {
    into.replaceChildren(await knowledgeOf(one));
  } catch (error) {
    into.replaceChildren(failureText(error));
  }
}

async function decide(
  one: ConsoleInDoubt,
  decision: keyof typeof decisions,
  onDone: () => void,
): Promise<void> {
  const { transaction_id: id } = one;
  const knowledge = h('div', {}, 'The members are asked …');
  begin(survey(one, knowledge));
  await confirmed({
    title: `${decision} ${id}?`,
    body: [
      h('p', {}, `This would ${decisions[decision]}.`),
      h(
        'p',
        {},
        'A decision that differs from what a member knows, or will learn, leaves the transaction half done. Wait for members that do not answer where you can.',
      ),
      knowledge,
    ],
    typed: id,
    verb: decision,
    act: () => act(`/transactions/${encodeURIComponent(id)}/resolve`, { heuristic: decision }),
  });
  onDone();
}
