/**
 * Records a run while it happens: attaches to the world's trace, network and disks before the run begins. It only looks;
 * the digest is the same with and without it.
 */
import { nameOfKey } from '../../engine/base/object-key.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import type { LogFields } from '../../engine/io/log.ts';
import type { LogRecord } from '../observe/log-records.ts';
import { ReplicaShadow } from '../observe/replica-shadow.ts';
import type { Plan, PlanFault } from '../plan/plan.ts';
import { faultKinds } from '../faults/fault-table.ts';
import { networkFaults } from '../faults/network.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { TraceEvent } from '../world/core/trace.ts';
import type { World } from '../world/world.ts';
import { idInKey, recordWords } from './client-ids.ts';
import { heldWords, WrittenEpochs } from './held-versions.ts';
import { MessageRecorder } from './message-recorder.ts';
import { faultSentence } from './plan-sentences.ts';
import type { Band, HeldState, Lane, Mark, MarkKind } from './recording.ts';
import { Subjects } from './subjects.ts';
import { followUnsyncedNames } from './unsynced-names.ts';

/** Most marks, and most states, that a recording holds. */
const marksMax = 60_000;
const statesMax = 40_000;

const worldMarks: Readonly<Record<string, MarkKind>> = {
  'host.crashed': 'crash',
  'host.booted': 'start',
  'host.stopped': 'stop',
  'host.paused': 'pause',
  'host.resumed': 'resume',
  'disk.file.synced': 'sync',
};
/** Events of the trace that a drawing has no place for: packets and files are drawn otherwise. */
const undrawn = /^(net|disk|clock|host|world)\.|^task\.|^run\./;
const ringEvents = /^(membership|ring|changes|transfer|cleanup)\./;

/** Collects what a recording holds of the world. */
export class Recorder {
  readonly subjects: Subjects;
  readonly lanes: Lane[] = [];
  readonly marks: Mark[] = [];
  readonly bands: Band[] = [];
  readonly states: HeldState[] = [];
  readonly phases: { readonly name: string; readonly atUs: number }[] = [];
  readonly messages: MessageRecorder;
  #leftOut = 0;
  readonly #plan: Plan;
  readonly #open = new Map<string, { readonly fault: PlanFault; readonly fromUs: number }>();
  readonly #held = new Map<string, Map<PackedKey, string>>();
  readonly #epochs = new Map<string, WrittenEpochs>();
  readonly #ids = new Map<string, Map<PackedKey, { readonly seq: number; readonly text: string }>>();
  readonly #idTexts = new Map<string, string>();
  #now: () => number = () => 0;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.subjects = new Subjects(
      plan.nodes.flatMap(({ name, rack, datacenter }) => [name, rack, datacenter]),
    );
    this.messages = new MessageRecorder(
      () => this.#now(),
      (host) => this.laneOf(host),
      this.subjects,
    );
    for (const { name } of plan.nodes) this.laneOf(name);
  }

  /** What the limits left out. */
  get leftOut(): number {
    return this.#leftOut + this.messages.leftOut;
  }

  /** Attaches to a world whose run has not begun. */
  attach(world: World, cluster: Cluster): void {
    this.#now = () => world.nowUs;
    world.network.watch(this.messages);
    world.trace.on('*', (event) => this.#happened(event));
    for (const { name } of this.#plan.nodes) this.#followStore(world, cluster, name);
    followUnsyncedNames(world, (host, name, renamedUs) => {
      const text = `disk.name.unsynced what=${name} since=${(renamedUs / 1_000_000).toFixed(4)}`;
      this.#mark({ lane: this.laneOf(host), atUs: world.nowUs, kind: 'log', text, about: [] });
    });
  }

  /** The index of a host's lane. */
  laneOf(host: string): number {
    const known = this.lanes.findIndex(({ name }) => name === host);
    if (known >= 0) return known;
    const isNode = this.#plan.nodes.some(({ name }) => name === host);
    const kind = isNode ? 'node' : /^[cxrj]\d+$/.test(host) ? 'client' : 'other';
    return this.lanes.push({ name: host, kind }) - 1;
  }

  /** Ends the bands of faults that lasted until now. */
  finish(): void {
    for (const id of this.#open.keys()) this.#close(id, this.#now());
  }

  #happened({ atUs, host, name, fields }: TraceEvent): void {
    if (name === 'world.acted') return this.#acted(String(fields['what']), atUs);
    if (host === '') {
      if (name.startsWith('run.')) this.#phase(name, atUs);
      return;
    }
    const kind = worldMarks[name] ?? this.#kindOfLog(name);
    if (kind === undefined) return;
    this.#mark({ lane: this.laneOf(host), atUs, kind, ...this.#textOf(name, fields) });
  }

  #kindOfLog(name: string): MarkKind | undefined {
    if (undrawn.test(name)) return undefined;
    if (name.startsWith('xa.')) return 'step';
    return ringEvents.test(name) ? 'ring' : 'log';
  }

  #textOf(name: string, fields: LogFields): Pick<Mark, 'text' | 'about'> {
    const parts = Object.entries(fields).map(([field, value]) => `${field}=${String(value)}`);
    const text = [name, ...parts].join(' ');
    return { text, about: this.subjects.inText(text) };
  }

  #phase(name: string, atUs: number): void {
    this.phases.push({ name: name.slice('run.'.length).replace('.began', ''), atUs });
    if (name === 'run.calm.began') for (const id of this.#open.keys()) this.#close(id, atUs);
  }

  /** `fault f1` injects it; `heal f1`, `restart f1`, `resume f1` and the like end it. */
  #acted(what: string, atUs: number): void {
    const [deed = '', id = ''] = what.split(' ');
    const fault = this.#plan.faults.find((one) => one.id === id);
    if (fault === undefined) return;
    if (deed !== 'fault') {
      if (/^(heal|restart|resume|return|boot)$/.test(deed)) this.#close(id, atUs);
      return;
    }
    for (const target of fault.targets) {
      const lane = this.laneOf(target);
      this.#mark({
        lane,
        atUs,
        kind: 'fault',
        text: `${id}: ${faultSentence(fault, this.#plan)}`,
        about: [],
      });
    }
    if (faultKinds[fault.kind].lasting) this.#open.set(id, { fault, fromUs: atUs });
  }

  #close(id: string, atUs: number): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    const { fault, fromUs } = open;
    const lanes = fault.targets.map((target) => this.laneOf(target));
    const text = faultSentence(fault, this.#plan);
    const band = { fault: id, kind: fault.kind, lanes, fromUs, toUs: atUs, text };
    const links = linksOf(fault);
    this.bands.push(links === undefined ? band : { ...band, links });
  }

  #mark(mark: Mark): void {
    if (this.marks.length < marksMax) this.marks.push(mark);
    else this.#leftOut += 1;
  }

  #followStore(world: World, cluster: Cluster, name: string): void {
    const shadow = new ReplicaShadow(
      () => world.nowUs,
      ({ key, after }) => this.#holds(name, key, after.value),
      (record) => this.#holdsId(name, record),
    );
    const { disk } = cluster.host(name);
    disk.watch({ wrote: (_host, _life, path, _content, from, whole) => shadow.wrote(path, whole, from) });
    world.trace.on('store.opened', ({ host }) => {
      if (host !== name) return;
      const ids = this.#idsAt(name);
      const before = [...ids.keys()];
      ids.clear();
      shadow.opened(disk.durableFiles());
      for (const key of before) if (!ids.has(key)) this.#idChanged(name, key, 'nothing');
      const found = new Map([...shadow.held()].map(([key, { value }]) => [key, value]));
      for (const key of this.#held.get(name)?.keys() ?? []) {
        if (!found.has(key)) this.#holds(name, key, undefined);
      }
      for (const [key, value] of found) this.#holds(name, key, value);
    });
    cluster.onLifeEnding((ended) => {
      if (ended === name) shadow.closed();
    });
  }

  /** By the keys of idempotency records: what the node's disk holds, and the store position of that. */
  #idsAt(node: string): Map<PackedKey, { readonly seq: number; readonly text: string }> {
    const known =
      this.#ids.get(node) ?? new Map<PackedKey, { readonly seq: number; readonly text: string }>();
    this.#ids.set(node, known);
    return known;
  }

  #holdsId(node: string, { key, seq, value }: LogRecord): void {
    if (value === 'damaged' || idInKey(key) === undefined) return;
    const ids = this.#idsAt(node);
    if (seq <= (ids.get(key)?.seq ?? -1)) return;
    const text = recordWords(value);
    ids.set(key, { seq, text });
    this.#idChanged(node, key, text);
  }

  #idChanged(node: string, key: PackedKey, text: string): void {
    const name = `${node} ${key}`;
    const id = idInKey(key);
    if (id === undefined || (this.#idTexts.get(name) ?? 'nothing') === text) return;
    this.#idTexts.set(name, text);
    this.#state({ lane: this.laneOf(node), atUs: this.#now(), key: this.subjects.ofId(id), text });
  }

  #state(state: HeldState): void {
    if (this.states.length < statesMax) this.states.push(state);
    else this.#leftOut += 1;
  }

  #holds(node: string, key: PackedKey, value: Buffer | undefined): void {
    const held = this.#held.get(node) ?? new Map<PackedKey, string>();
    this.#held.set(node, held);
    const words = heldWords(value);
    const { text } = words;
    if (held.get(key) === text || (value === undefined && !held.has(key))) return;
    held.set(key, text);
    const subject = this.subjects.of(nameOfKey(key));
    const epochs = this.#epochs.get(node) ?? new WrittenEpochs();
    this.#epochs.set(node, epochs);
    const former = value !== undefined && epochs.isFormer(key) ? ({ former: true } as const) : {};
    this.#state({ lane: this.laneOf(node), atUs: this.#now(), key: subject, ...words, ...former });
  }
}

/** Which links a fault of the network strikes; undefined for other faults. */
function linksOf({ kind }: PlanFault): Band['links'] {
  if (!Object.hasOwn(networkFaults, kind)) return undefined;
  const { aim } = faultKinds[kind];
  if (aim === 'link') return 'between';
  return aim === 'side' ? 'around' : undefined;
}
