/**
 * The console of the node that serves it. It polls the node every few seconds and shows what the node answered. If the
 * node does not answer, the page says so and hides what it knew: nothing that is shown is old.
 */
import type { ConsoleOverview, ConsoleVersions } from '../api/http/console-answers.ts';
import { confirmed } from './confirm.ts';
import { DataBrowser } from './data.ts';
import { begin, h, Panel } from './dom.ts';
import { LatencyCharts } from './latency.ts';
import { membersTable, movesList, ringPicture } from './members.ts';
import { act, getJson, NodeError } from './node-client.ts';
import { durationText, timeText } from './numbers.ts';
import { repairsList } from './repairs.ts';
import { inDoubtList } from './transactions.ts';

/** Milliseconds between an answer and the next question. */
const pollMs = 3000;
/** The versions are asked of every member, so they are asked rarely. */
const versionsMs = 30_000;

const members = new Panel('members', 'Members');
const ring = new Panel('ring', 'Ring', 'Each circle is one rack, which holds every key once.');
const moves = new Panel('moves', 'What moves');
const inDoubt = new Panel('in-doubt', 'Transactions in doubt');
const repairs = new Panel('repairs', 'Repairs and hints', 'Counted by this node since it started.');
const latency = new Panel(
  'latency',
  'Latency',
  'Requests that this node answered, from one poll to the next.',
);
const data = new Panel(
  'data',
  'Data',
  'Reads are counted as those of any client. A listing of buckets reads all keys of the type, so it ends after a few seconds.',
);
const panels = [members, ring, moves, inDoubt, repairs, latency, data];
const charts = new LatencyCharts();
const browser = new DataBrowser();

const badge = h('p', { id: 'badge', class: 'badge', role: 'status' }, 'asks the node …');
const who = h('p', { id: 'who' });
const reasons = h('ul', { id: 'reasons' });
const silence = h('section', { id: 'silence', role: 'alert', hidden: true });
const actions = h('div', { id: 'actions' });
const title = h('h1', {}, 'Lockstep console');
const content = h('div', { id: 'content', hidden: true }, reasons, ...panels.map(({ element }) => element));

let versions: ConsoleVersions | undefined;
let answeredAtMs: number | undefined;
let actionsOf = '';

function build(): void {
  const app = document.getElementById('app');
  if (app === null) throw new Error('the page has no element app');
  latency.show('', () => [charts.element]);
  data.show('', () => [browser.element]);
  const links = panels.map(({ element: { id } }) =>
    h('a', { href: `#${id}` }, document.createTextNode(titleOf(id))),
  );
  app.replaceChildren(
    h('a', { class: 'skip', href: '#main' }, 'To the content'),
    h('header', {}, title, badge, who, actions),
    h('nav', { 'aria-label': 'Sections' }, ...links),
    h('main', { id: 'main', tabindex: '-1' }, silence, content),
  );
}

function titleOf(id: string): string {
  return panels.find(({ element }) => element.id === id)?.element.querySelector('h2')?.textContent ?? id;
}

/** Shows one answer. Every node's console lists, and colours, the members in the order of their names. */
function show(answer: ConsoleOverview): void {
  const sorted = answer.cluster.members.toSorted((left, right) => (left.node < right.node ? -1 : 1));
  const overview = { ...answer, cluster: { ...answer.cluster, members: sorted } };
  const { cluster } = overview;
  silence.hidden = true;
  content.hidden = false;
  document.title = `${overview.node} – Lockstep console`;
  title.textContent = overview.node;
  const ready = overview.not_ready.length === 0;
  badge.textContent = ready ? 'ready' : 'not ready';
  badge.className = `badge ${ready ? 'good' : 'bad'}`;
  who.textContent = `Lockstep ${overview.version}, up ${durationText(overview.uptime_seconds)}, store ${cluster.store}. You are ${overview.client.role}${overview.client.may_act ? '' : ' and can only look'}. ${timeText(overview.time_ms)}`;
  reasons.replaceChildren(...overview.not_ready.map(({ code, detail }) => h('li', {}, `${code}: ${detail}`)));
  showActions(overview);
  members.show([cluster.members, versions], () => membersTable(overview, versions));
  ring.show([overview.ring, cluster.members], () => ringPicture(overview));
  moves.show([cluster.members, cluster.transfer, cluster.view, cluster.held], () => movesList(overview));
  const doubts = overview.in_doubt.transactions.map((one) => ({ ...one, age_ms: 0 }));
  inDoubt.show([doubts, overview.in_doubt.total, overview.client], () => inDoubtList(overview, pollNow));
  repairs.show([overview.counts, overview.anti_entropy, cluster.hint_store], () => repairsList(overview));
  charts.add(overview.time_ms, overview.latencies);
}

function showActions({ node, cluster, client, anti_entropy: antiEntropy }: ConsoleOverview): void {
  const isStandby = cluster.members.find((member) => member.node === node)?.state === 'STANDBY';
  const facts = JSON.stringify([client, isStandby, antiEntropy === null]);
  if (facts === actionsOf) return;
  actionsOf = facts;
  actions.replaceChildren();
  if (!client.may_act) return;
  const ask = (title: string, text: string, verb: string, path: string) => (): void => {
    begin(
      confirmed({ title, body: [h('p', {}, text)], typed: '', verb, act: () => act(path) }).then(pollNow),
    );
  };
  const standby = isStandby
    ? ask(
        `Return ${node} from STANDBY?`,
        'It serves clients again.',
        'Return',
        '/cluster/standby?return=true',
      )
    : ask(
        `Put ${node} in STANDBY?`,
        'It refuses clients and keeps its data until it returns.',
        'Put in STANDBY',
        '/cluster/standby',
      );
  actions.append(
    h('button', { type: 'button', onclick: standby }, isStandby ? 'Return from STANDBY…' : 'STANDBY…'),
  );
  if (antiEntropy === null) return;
  const sweep = ask(
    'Compare all keys with all peers?',
    'A full sweep reads every key of this node, at the configured rate.',
    'Sweep',
    '/aae/sweep',
  );
  actions.append(h('button', { type: 'button', onclick: sweep }, 'Full sweep…'));
}

/** The node does not answer, or refuses: what was shown may not hold any more. */
function showSilence(error: unknown): void {
  const refused = error instanceof NodeError;
  content.hidden = true;
  silence.hidden = false;
  actions.replaceChildren();
  actionsOf = '';
  charts.clear();
  badge.textContent = refused ? 'refused' : 'does not answer';
  badge.className = 'badge bad';
  who.textContent = '';
  const since = answeredAtMs === undefined ? '' : ` Its last answer was at ${timeText(answeredAtMs)}.`;
  const text = refused ? `This node refuses: ${error.message}.` : 'This node does not answer.';
  silence.replaceChildren(
    h('h2', {}, refused ? 'Refused' : 'This node does not answer'),
    h(
      'p',
      {},
      `${text}${since} The page asks again every few seconds. Open the console of another member to see the cluster.`,
    ),
  );
}

async function poll(): Promise<void> {
  try {
    const overview = await getJson<ConsoleOverview>('/console/overview');
    answeredAtMs = Date.now();
    show(overview);
  } catch (error) {
    showSilence(error);
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;

/** Polls now, and then periodically. A hidden page asks nothing. */
function pollNow(): void {
  clearTimeout(timer);
  timer = undefined;
  begin(
    poll().then(() => {
      clearTimeout(timer);
      if (!document.hidden) timer = setTimeout(pollNow, pollMs);
    }),
  );
}

async function askVersions(): Promise<void> {
  if (!document.hidden) {
    versions = await getJson<ConsoleVersions>('/console/versions', 10_000).catch(() => undefined);
  }
  setTimeout(() => begin(askVersions()), versionsMs);
}

build();
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) pollNow();
});
pollNow();
begin(askVersions());
