/** Starts the page: unpacks the recording, draws it, and lets the reader edit the plan and run it again. */
import type { FaultEntry, ScenarioEntry } from '../../sim/browser/protocol.ts';
import type { Plan } from '../../sim/plan/plan.ts';
import { formatPlan } from '../../sim/plan/plan.ts';
import type { Recording } from '../../sim/record/recording.ts';
import { verdictText } from '../verdict.ts';
import { filterBar, legend, quietKinds } from './controls.ts';
import { Diagram } from './diagram.ts';
import { h } from '../../engine/console/dom.ts';
import { byId, timeText } from './dom.ts';
import { followPointer } from './gestures.ts';
import type { Filter } from './model.ts';
import { Model, textOf } from './model.ts';
import { Overview } from './overview.ts';
import { checksTable, countersTable, eventRows, objectsTable } from './panels.ts';
import { withSeed } from './plan-edits.ts';
import { addForm, planList } from './plan-panel.ts';
import { Simulator, unpack } from './simulator.ts';

/** A longer run is not made in advance. */
const warmUpEventsMax = 60_000;

/** What surrounds the violation at first, in microseconds. */
const aroundUs = 12_000;

class App {
  readonly #simulator = new Simulator(byId('engine-data'));
  readonly #original: Recording;
  #model: Model;
  #filter: Filter;
  #faults: readonly FaultEntry[] = [];
  #scenarios: readonly ScenarioEntry[] = [];
  #running = false;
  readonly #canvas = h('canvas', { tabindex: '0', role: 'application', 'aria-label': canvasHelp });
  readonly #strip = h('canvas', { 'aria-hidden': 'true' });
  readonly #tooltip = h('div', { class: 'tooltip', hidden: true, role: 'status' });
  readonly #details = h('p', { class: 'hint', 'aria-live': 'polite' }, canvasHelp);
  readonly #filters = h('div');
  readonly #instant = h('span', { class: 'figures' });
  readonly #status = h('span', { class: 'figures', role: 'status' });
  readonly #events = h('ol', { class: 'events' });
  readonly #objects = h('div');
  readonly #plan = h('div');
  readonly #counters = h('div');
  readonly #checks = h('div');
  readonly #run = h('div', { class: 'bar' });
  readonly #diagram: Diagram;
  readonly #overview: Overview;

  constructor(recording: Recording) {
    this.#original = recording;
    this.#model = new Model(recording);
    this.#filter = this.#firstFilter();
    this.#build();
    this.#diagram = new Diagram(this.#canvas, this.#model, this.#filter);
    this.#firstView();
    this.#overview = new Overview(this.#strip, this.#model, this.#diagram.view);
    if (recording.concern !== undefined) this.#diagram.setCursor(recording.concern.atUs);
    this.#diagram.drawNow();
    followPointer(this.#canvas, this.#strip, this.#diagram, {
      hovered: (hit, x, y) => this.#hover(hit?.text, x, y),
      picked: (hit, us) => {
        this.#diagram.select(hit);
        this.#details.textContent = hit?.text ?? canvasHelp;
        this.#moveTo(hit?.atUs ?? us);
      },
      moved: () => this.#moved(),
      endUs: () => this.#model.endUs,
      stepped: (by) => this.#step(by),
      toViolation: () => this.#toViolation(),
    });
  }

  /** Fills what stands around the diagram, which has its first frame before. */
  showPanels(): void {
    this.#refresh();
  }

  #firstFilter(): Filter {
    const none: ReadonlySet<number> = new Set<number>();
    const { recording } = this.#model;
    const cone = recording.concern === undefined ? 'off' : 'related';
    return { lanes: busyLanes(recording), kinds: quietKinds(this.#model), subjects: none, fault: '', cone };
  }

  #firstView(): void {
    const { concern, operations } = this.#model.recording;
    if (concern === undefined) return;
    const begins = concern.operations.map((at) => operations[at]?.invokedUs ?? concern.atUs);
    const from = Math.min(concern.atUs - aroundUs, ...begins.map((us) => us - aroundUs / 2));
    this.#diagram.setView({ fromUs: from, toUs: concern.atUs + (concern.atUs - from) / 5 });
  }

  #build(): void {
    const app = byId('app');
    const button = (text: string, act: () => void, label = text): HTMLElement =>
      h('button', { type: 'button', 'aria-label': label, onclick: act }, text);
    const goTo = h('input', { size: '9', placeholder: '1.204', 'aria-label': 'virtual time in seconds' });
    const steps = h(
      'div',
      { class: 'bar' },
      button('Rewind', () => this.#moveTo(0)),
      button('◀ Step', () => this.#step(-1), 'step back'),
      button('Step ▶', () => this.#step(1), 'step'),
      button('To violation', () => this.#toViolation()),
      button('To the end', () => this.#moveTo(this.#model.endUs)),
      h('label', {}, 'Run to', goTo, 's'),
      button('Go', () => this.#moveTo(Number(goTo.value) * 1_000_000)),
      this.#instant,
    );
    const zooms = h(
      'div',
      { class: 'segmented', role: 'group', 'aria-label': 'zoom' },
      button('−', () => this.#zoom(2), 'zoom out'),
      button('+', () => this.#zoom(0.5), 'zoom in'),
      button('Whole run', () => this.#whole()),
    );
    steps.append(zooms);
    const panel = (title: string, ...children: readonly HTMLElement[]): HTMLElement =>
      h('section', { class: 'panel' }, h('h2', {}, title), ...children);
    const scroll = (label: string, child: HTMLElement): HTMLElement =>
      h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label }, child);
    const canvas = h('div', { class: 'canvas' }, this.#canvas);
    app.append(
      panel(
        'Space and time',
        this.#run,
        this.#filters,
        steps,
        h('div', { class: 'overview' }, this.#strip),
        canvas,
        legend(),
        this.#details,
      ),
      h(
        'div',
        { class: 'columns' },
        panel('What the plan does', this.#plan),
        panel('Events around the cursor', scroll('Events', this.#events)),
      ),
      panel('Objects on the nodes at the cursor', scroll('Objects', this.#objects)),
      h(
        'div',
        { class: 'columns' },
        panel('Promises', scroll('Promises', this.#checks)),
        panel('Counters against the truth', scroll('Counters', this.#counters)),
      ),
      this.#tooltip,
    );
    app.hidden = false;
    byId('static-plan').hidden = true;
  }

  /** Everything that follows the model. */
  #refresh(): void {
    const { recording } = this.#model;
    this.#filters.replaceChildren(filterBar(this.#model, this.#filter, (change) => this.#change(change)));
    this.#counters.replaceChildren(countersTable(recording));
    this.#checks.replaceChildren(checksTable(recording));
    this.#refreshPlan();
    this.#moved();
    this.#moveTo(this.#diagram.cursorUs);
  }

  #refreshPlan(): void {
    const editing = {
      original:
        this.#original.plan.scenario === this.#model.recording.plan.scenario
          ? this.#original
          : this.#model.recording,
      current: this.#model.recording,
      faults: this.#faults,
      canRun: this.#simulator.missing === '' && !this.#running,
      run: (plan: Plan): void => this.#begin(this.#runPlan(plan)),
      show: ({ id, atUs }: { readonly id: string; readonly atUs: number | undefined }): void => {
        const band = this.#model.recording.bands.find(({ fault }) => fault === id);
        this.#moveTo(band?.fromUs ?? (atUs ?? 0) + this.#model.stormUs);
      },
    };
    this.#plan.replaceChildren(addForm(editing), planList(editing));
    this.#run.replaceChildren(...this.#runControls());
  }

  #runControls(): readonly HTMLElement[] {
    const { missing } = this.#simulator;
    if (missing !== '') return [h('span', { class: 'hint' }, missing)];
    const { plan } = this.#model.recording;
    const seed = h('input', { type: 'number', min: '0', value: String(plan.seed), 'aria-label': 'seed' });
    const off = this.#running;
    const controls: HTMLElement[] = [];
    if (this.#scenarios.length > 0) {
      const scenario = h(
        'select',
        {},
        ...this.#scenarios.map(({ name, description }) =>
          h('option', { value: name, selected: name === plan.scenario, title: description }, name),
        ),
      );
      const choose = (): void => this.#begin(this.#runSeed(scenario.value, Number(seed.value)));
      controls.push(
        h('label', {}, 'Scenario', scenario),
        h('label', {}, 'Seed', seed),
        h('button', { type: 'button', class: 'primary', disabled: off, onclick: choose }, 'Run'),
      );
    } else controls.push(h('label', {}, 'Seed', seed));
    const again = (): void => this.#begin(this.#runPlan(withSeed(plan, Number(seed.value))));
    controls.push(
      h('button', { type: 'button', disabled: off, onclick: again }, 'Run the plan again'),
      h('button', { type: 'button', disabled: off, onclick: () => this.#take(this.#original) }, 'Revert'),
      h('button', { type: 'button', onclick: () => this.#save() }, 'Save plan'),
      this.#status,
    );
    return controls;
  }

  /** Starts what ends later; an error is shown where runs report. */
  #begin(work: Promise<void>): void {
    work.catch((error: unknown) => (this.#status.textContent = String(error)));
  }

  async #runSeed(scenario: string, seed: number): Promise<void> {
    const answer = await this.#simulator.ask({ kind: 'plan', scenario, seed });
    if (answer.kind === 'planned') await this.#runPlan(answer.plan);
    else if (answer.kind === 'failed') this.#status.textContent = answer.message;
  }

  async #runPlan(plan: Plan): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    this.#badge('running');
    this.#status.textContent = 'The simulator runs in this page …';
    this.#refreshPlan();
    const startMs = performance.now();
    const answer = await this.#simulator.ask({ kind: 'record', plan });
    this.#running = false;
    if (answer.kind === 'recorded') {
      this.#take(answer.recording);
      const same = answer.recording.result.digest === this.#original.result.digest;
      const note = same ? 'the same digest as the recorded run' : 'another run';
      this.#status.textContent = `${answer.recording.result.events} events in ${((performance.now() - startMs) / 1000).toFixed(2)} s: ${note}`;
    } else {
      this.#status.textContent = answer.kind === 'failed' ? `The run ended: ${answer.message}` : '';
      this.#badge(verdictText(this.#model.recording).verdict);
      this.#refreshPlan();
    }
  }

  /** Shows another run. */
  #take(recording: Recording): void {
    const ended = this.#diagram.cursorUs >= this.#model.endUs;
    this.#model = new Model(recording);
    this.#filter = { ...this.#firstFilter(), cone: recording.concern === undefined ? 'off' : 'related' };
    this.#diagram.setFilter(this.#filter);
    this.#diagram.setModel(this.#model);
    this.#overview.setModel(this.#model);
    if (ended) this.#diagram.setCursor(this.#model.endUs);
    const words = verdictText(recording);
    byId('title').textContent = words.title;
    byId('meaning').textContent = words.meaning;
    byId('evidence').textContent = words.evidence;
    byId('evidence').hidden = words.evidence === '';
    byId('figures').textContent = words.figures;
    byId('digest').textContent = recording.result.digest;
    byId('cause').hidden = recording !== this.#original || byId('cause').querySelector('li') === null;
    this.#badge(words.verdict);
    this.#refresh();
  }

  #badge(verdict: string): void {
    const badge = byId('badge');
    badge.textContent = verdict;
    badge.className = `badge ${verdict}`;
  }

  #change(change: Partial<Filter>): void {
    this.#filter = { ...this.#filter, ...change };
    this.#diagram.setFilter(this.#filter);
    if (change.fault !== undefined) {
      const band = this.#model.recording.bands.find(({ fault }) => fault === change.fault);
      if (band !== undefined) this.#diagram.reveal(band.fromUs);
    }
    this.#moved();
    this.#showObjects();
  }

  #zoom(factor: number): void {
    const { fromUs, toUs } = this.#diagram.view;
    this.#diagram.zoom(factor, (fromUs + toUs) / 2);
    this.#moved();
  }

  #whole(): void {
    this.#diagram.setView({ fromUs: 0, toUs: this.#model.endUs });
    this.#moved();
  }

  #toViolation(): void {
    this.#moveTo(this.#model.recording.concern?.atUs ?? this.#model.endUs);
  }

  #step(by: number): void {
    const event = this.#model.events[this.#model.eventAt(this.#diagram.cursorUs) + by];
    if (event === undefined) return;
    // Events of one instant are one step: the cursor stands between instants.
    this.#moveTo(event.atUs);
    this.#details.textContent = `${timeText(event.atUs)} ${textOf(event, this.#model.recording)}`;
  }

  /** Moves the cursor: what lies behind it has not happened yet. */
  #moveTo(us: number): void {
    if (!Number.isFinite(us)) return;
    this.#diagram.setCursor(us);
    if (us < this.#model.endUs) this.#diagram.reveal(us);
    const at = this.#diagram.cursorUs;
    this.#instant.textContent = `cursor at ${timeText(at)}, storm ${at < this.#model.stormUs ? '−' : '+'}${timeText(Math.abs(at - this.#model.stormUs))}`;
    this.#events.replaceChildren(...eventRows(this.#model, at, ({ atUs }) => this.#moveTo(atUs)));
    const row = this.#events.querySelector<HTMLElement>('.now');
    const list = this.#events.parentElement;
    // Scrolls the list alone: the page stays where the reader is.
    if (row !== null && list !== null)
      list.scrollTop = row.offsetTop - list.offsetTop - list.clientHeight / 2;
    this.#showObjects();
    this.#moved();
  }

  #showObjects(): void {
    this.#objects.replaceChildren(objectsTable(this.#model, this.#filter.subjects, this.#diagram.cursorUs));
  }

  #moved(): void {
    this.#overview.show(this.#diagram.view);
  }

  #hover(text: string | undefined, x: number, y: number): void {
    this.#tooltip.hidden = text === undefined;
    if (text === undefined) return;
    this.#tooltip.textContent = text;
    const { offsetWidth, offsetHeight } = this.#tooltip;
    this.#tooltip.style.left = `${Math.min(x + 14, window.innerWidth - offsetWidth - 8)}px`;
    this.#tooltip.style.top = `${Math.min(y + 14, window.innerHeight - offsetHeight - 8)}px`;
  }

  #save(): void {
    const { plan } = this.#model.recording;
    const url = URL.createObjectURL(new Blob([formatPlan(plan)], { type: 'application/json' }));
    const link = h('a', { href: url, download: `${plan.scenario}-${plan.seed}.json` });
    link.click();
    URL.revokeObjectURL(url);
  }

  /** The lists of scenarios and faults, which the worker knows; asked once the first frame stands. */
  async loadCatalogue(playground: boolean): Promise<void> {
    if (this.#simulator.missing !== '') return;
    const answer = await this.#simulator.ask({ kind: 'catalogue' });
    if (answer.kind !== 'catalogued') return;
    this.#faults = answer.faults;
    if (playground) this.#scenarios = answer.scenarios;
    this.#refreshPlan();
  }

  /**
   * Records the plan's run once while the reader reads: the browser compiles engine, observers and checks as they run,
   * so the first edited run is not the slow one. Says whether this browser's run is the recorded one.
   */
  async warmUp(): Promise<void> {
    const { plan, result } = this.#original;
    if (this.#simulator.missing !== '' || result.events > warmUpEventsMax || this.#running) return;
    const answer = await this.#simulator.ask({ kind: 'record', plan });
    if (answer.kind !== 'recorded' || this.#status.textContent !== '') return;
    const { digest } = answer.recording.result;
    const isSame = digest === result.digest;
    this.#status.textContent = isSame
      ? 'This browser ran the plan too: the same digest.'
      : `This browser ran the plan too, with another digest: ${digest}`;
  }

  repaint(): void {
    this.#diagram.repaint();
    this.#overview.repaint();
  }

  get frameMs(): number {
    return this.#diagram.frameMs;
  }
}

const canvasHelp =
  'Drag to move, wheel or + and − to zoom, arrow keys to step, v for the violation, Home for the whole run. Point at anything for its details.';

/** Nodes, and the hosts that asked something; idle ones are hidden at first. */
function busyLanes({ lanes, messages }: Recording): ReadonlySet<number> {
  const busy = new Set(messages.flatMap(({ from, to }) => [from, to]));
  const shown = lanes.flatMap(({ kind }, lane) => (kind === 'node' || busy.has(lane) ? [lane] : []));
  return shown.length === lanes.length ? new Set() : new Set(shown);
}

function followTheme(app: App): void {
  const button = byId('theme');
  button.hidden = false;
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  button.addEventListener('click', () => {
    const isDark = root.dataset['theme'] === undefined ? dark.matches : root.dataset['theme'] === 'dark';
    root.dataset['theme'] = isDark ? 'light' : 'dark';
    app.repaint();
  });
  dark.addEventListener('change', () => app.repaint());
  window.addEventListener('resize', () => app.repaint());
}

function offerCopy(): void {
  const button = document.getElementById('copy');
  if (button === null) return;
  button.hidden = false;
  button.addEventListener('click', () => {
    const text = byId('replay').textContent;
    const done = (): void => void (button.textContent = 'Copied');
    navigator.clipboard.writeText(text).then(done, () => getSelection()?.selectAllChildren(byId('replay')));
  });
}

async function start(): Promise<void> {
  const recording = JSON.parse(await unpack(byId('recording-data'))) as Recording;
  const app = new App(recording);
  performance.mark('first-frame');
  document.body.dataset['frameMs'] = app.frameMs.toFixed(1);
  await nextTask();
  app.showPanels();
  followTheme(app);
  offerCopy();
  document.body.dataset['ready'] = 'true';
  await app.loadCatalogue(document.body.classList.contains('playground'));
  document.body.dataset['simulator'] = 'ready';
  await app.warmUp();
}

/** Resolves once the browser has shown what is drawn. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

start().catch((error: unknown) => {
  byId('app').textContent = `The page could not be drawn: ${String(error)}`;
  byId('app').hidden = false;
});
