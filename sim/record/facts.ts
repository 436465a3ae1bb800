/**
 * Says in sentences what happened at a violation: what broke, what the nodes did before it, which replicas answered and
 * held what, and where the nearest passing run differs. Pure: it reads recordings. What it says are facts of the
 * recorded run; which of them is the cause, its reader judges.
 */
import { backupMoments } from './backup-moments.ts';
import { behindCounter } from './behind-counters.ts';
import { brokenFencesOf, ruledOutOf } from './broken-fences.ts';
import { brokenOrdersOf } from './broken-order.ts';
import { dialoguesOf } from './dialogues.ts';
import { deedOf, isEveryday, isRefusal } from './event-words.ts';
import { requestKinds } from '../../engine/peer/wire/kinds.ts';
import { formerEpochsOf } from './former-epochs.ts';
import { memberHistories } from './member-history.ts';
import { reapedTombstonesOf } from './reaped-tombstones.ts';
import { handleOf, listOf, placeOf, seconds } from './places.ts';
import type { Mark, Message, RecordedOperation, Recording } from './recording.ts';
import { repeatsOf } from './repeated-refusals.ts';
import { newCopies } from './new-copies.ts';
import { messagesFor } from './sent-for.ts';
import { sharesOf } from './shares.ts';
import { lostValuesOf } from './lost-values.ts';
import { wrongViewsOf } from './wrong-views.ts';

/** Most deeds of one sentence. */
const deedsMax = 8;
/** Invariants whose breach is understood from who holds which copy. */
const aboutCopies = [
  ...['durable-before-ack', 'durability', 'atomicity', 'convergence', 'session-guarantees'],
  ...['hint-delivery', 'strict-serializability', 'conditional-puts'],
];
/** Most views of peers that are shown. */
const viewsMax = 2;
/** A read's repairs are sent so soon after its answer, in microseconds. */
const repairUs = 100_000;
/** A client's description of a read of a key. */
const readForm = /^#\d+ \S+ get /;
/** A client's description of a write to a key. */
const writeForm = /^#\d+ \S+ (put|delete) /;
/** Requests that a coordinator sends to the holders of copies. */
const copyRequests = ['readObject', 'readMany', 'mergeObject', 'mergeMany', 'keepHint'];
/** A client's description of an operation on a key. */
const objectForm = /^#\d+ \S+ (get|put|delete) /;
/** Most losses of a value that are shown, and most characters of what is held instead. */
const lossesMax = 3;
const heldMax = 80;
/** Nodes that reap a tombstone within this time do it together, in microseconds. */
const sameReapUs = 100_000;
/** Most repeated refusals that are shown. */
const repeatsMax = 2;
/** Most broken orders that are shown, and most messages; those of so long before the violation, in microseconds. */
const ordersMax = 2;
const arrivalsMax = 3;
const arrivalsUs = 100_000;
/** Invariants whose breach the steps of transactions may explain. */
const aboutTransactions =
  /^(atomicity|durab|strict-|outcome|exactly|lock-|no-dangling|no-silent|metrics-|backup-)/;
/** Most different answers of a node that are shown. */
const saidMax = 2;
/** Most keys whose copies are listed, and most operations whose messages are. */
const keysMax = 2;
const operationsMax = 2;

/** The sentences about a failing run, the most telling first. `passing`: the nearest run that keeps the promise. */
export function factsOf(failing: Recording, passing?: Recording): readonly string[] {
  const { concern } = failing;
  if (concern === undefined) return [];
  const facts = new Facts(failing, passing);
  return [
    `What broke, at ${seconds(concern.atUs)}: ${concern.text.replace(/\.$/, '')}.${promiseOf(concern)}`,
    ...facts.counters(),
    ...facts.behind(),
    ...facts.orders(),
    ...backupMoments(failing),
    ...memberHistories(failing),
    ...formerEpochsOf(failing),
    ...facts.arrivals(),
    ...facts.exchanges(),
    ...facts.shares(),
    ...facts.dialogues(),
    ...facts.copies(),
    ...facts.losses(),
    ...facts.reaped(),
    ...facts.views(),
    ...facts.repeats(),
    ...facts.before(),
    ...facts.afterStart(),
    ...facts.difference(),
  ].filter((line) => line !== '');
}

function promiseOf({ promise }: Pick<NonNullable<Recording['concern']>, 'promise'>): string {
  return promise === '' ? '' : ` The promise: ${promise}.`;
}

/** Whether messages of this kind ask something: `transact.prepare`. */
function isRequest(kind: string): boolean {
  return Object.hasOwn(requestKinds, kind.split('.', 1)[0] ?? '');
}

/** ` (no copy)`: what the answers say beyond their kinds; the last ones, each once. */
function saidBy(answers: readonly Message[]): string {
  const said = [...new Set(answers.flatMap(({ detail = [] }) => detail))].slice(-saidMax);
  return said.length === 0 ? '' : ` (${said.join('; ')})`;
}

class Facts {
  readonly #run: Recording;
  readonly #passing: Recording | undefined;
  readonly #concern: NonNullable<Recording['concern']>;
  readonly #subjects: ReadonlySet<number>;
  /** The hosts that the violation names, unless it names most nodes. */
  readonly #lanes: ReadonlySet<number>;

  constructor(run: Recording, passing: Recording | undefined) {
    this.#run = run;
    this.#passing = passing;
    this.#concern = run.concern ?? nothing;
    this.#subjects = new Set(this.#concern.subjects);
    const nodes = this.#concern.lanes.filter((lane) => run.lanes[lane]?.kind === 'node');
    this.#lanes = new Set(nodes.length * 2 > run.plan.nodes.length + 1 ? [] : nodes);
  }

  /** Counters that differ from the truth; two that differ by the same number the other way are one mistake. */
  counters(): readonly string[] {
    if (this.#concern.invariant !== 'metrics-reconcile') return [];
    const broken = this.#run.counters.filter(({ holds, atUs }) => !holds && atUs === this.#concern.atUs);
    const rows = broken.map((row) => ({ ...row, off: Number(row.counted) - Number(row.expected) }));
    const high = rows.find(({ off }) => off > 0);
    const low = rows.find(({ off, lane }) => high !== undefined && lane === high.lane && off === -high.off);
    if (high !== undefined && low !== undefined) {
      const node = placeOf(this.#run, high.lane);
      return [
        `${node} counts ${high.off} in ${high.name} that belongs to ${low.name}: the one is ${high.counted} instead of ${high.expected}, the other ${low.counted} instead of ${low.expected}.`,
      ];
    }
    const others = rows.slice(0, 3).map((row) => {
      const by = Number.isNaN(row.off)
        ? ''
        : row.off > 0
          ? ` (${row.off} too many)`
          : ` (${-row.off} too few)`;
      return `${placeOf(this.#run, row.lane)} ${row.name}: ${row.counted}, and ${row.expected} happened${by}`;
    });
    return others.length === 0 ? [] : [`Counters against what happened: ${others.join('; ')}.`];
  }

  /** What the node was asked since the counter that differs was last right. */
  behind(): readonly string[] {
    if (this.#concern.invariant !== 'metrics-reconcile') return [];
    const row = this.#run.counters.find(({ holds, atUs }) => !holds && atUs === this.#concern.atUs);
    return row === undefined ? [] : behindCounter(this.#run, row);
  }

  /** How the node shared the jobs concerned among its peers. */
  shares(): readonly string[] {
    return this.#concerned().flatMap((one) => sharesOf(this.#run, one));
  }

  /** Who asked whom about the transactions concerned. */
  dialogues(): readonly string[] {
    return aboutTransactions.test(this.#concern.invariant) ? dialoguesOf(this.#run) : [];
  }

  /** Steps that came too early or once too often, of the transactions concerned; without these, of any. */
  orders(): readonly string[] {
    if (!aboutTransactions.test(this.#concern.invariant)) return [];
    const { subjects } = this.#run;
    const all = brokenOrdersOf(this.#run);
    const named = new Set([...this.#subjects].map((subject) => subjects[subject] ?? ''));
    const concerned = all.filter(({ xid }) => named.has(xid));
    const told = (concerned.length > 0 ? concerned : all).map(({ lane, atUs, deed, although }) => {
      return `Out of order: at ${seconds(atUs)} ${placeOf(this.#run, lane)} ${deed}, although ${although}.`;
    });
    return [...brokenFencesOf(this.#run), ...told, ...ruledOutOf(this.#run)].slice(0, ordersMax);
  }

  /** What reached the nodes that a violation without an operation names, about its key, last. */
  arrivals(): readonly string[] {
    const { messages, messageKinds, subjects, states } = this.#run;
    if (this.#concern.operations.length > 0 || this.#lanes.size === 0) return [];
    const key = [...this.#subjects].findLast((subject) => states.some((state) => state.key === subject));
    if (key === undefined) return [];
    const fromUs = this.#concern.atUs - arrivalsUs;
    const reached = messages.filter(
      ({ from, to, arrivedUs, about }) =>
        this.#lanes.has(to) &&
        this.#isNode(from) &&
        arrivedUs >= fromUs &&
        arrivedUs <= this.#concern.atUs &&
        about.includes(key),
    );
    const told = reached
      .toSorted((left, right) => right.arrivedUs - left.arrivedUs)
      .slice(0, arrivalsMax)
      .map(
        ({ from, to, kind, arrivedUs }) =>
          `${placeOf(this.#run, to)} receives ${messageKinds[kind] ?? 'a message'} of ${placeOf(this.#run, from)} (${seconds(arrivedUs)})`,
      );
    if (told.length === 0) return [];
    return [`Last before it, about ${subjects[key] ?? ''}: ${told.join('; ')}.`];
  }

  /** Whom the node that a client asked has asked, and who had answered when the client was answered. */
  exchanges(): readonly string[] {
    const concerned = this.#concerned();
    // Of what is shared among peers, the shares tell more.
    const single = concerned.filter((one) => sharesOf(this.#run, one).length === 0);
    const chosen = concerned.length > 0 ? single : this.#lastWrites();
    const reads = this.#lastReads().filter((one) => !chosen.includes(one));
    return [...chosen, ...reads].flatMap((one) => {
      const { messageKinds } = this.#run;
      const endUs = one.completedUs < 0 ? this.#concern.atUs : one.completedUs;
      const within = messagesFor(this.#run, one, endUs);
      const sent = within.filter(({ from, to }) => from === one.node && this.#isNode(to));
      const asked = [...new Set(sent.map(({ to }) => to))];
      const answersOf = (lane: number): readonly Message[] =>
        within.filter(
          ({ from, to, kind, arrivedUs }) =>
            from === lane &&
            to === one.node &&
            arrivedUs >= 0 &&
            arrivedUs <= endUs &&
            !isRequest(messageKinds[kind] ?? ''),
        );
      const isBack = (lane: number): boolean => answersOf(lane).length > 0;
      const kinds = [...new Set(sent.map(({ kind }) => messageKinds[kind] ?? ''))]
        .filter(isRequest)
        .slice(0, 3);
      const place = (lane: number): string => placeOf(this.#run, lane);
      const [back, out] = [asked.filter(isBack), asked.filter((lane) => !isBack(lane))];
      const end = one.completedUs < 0 ? 'until then' : 'before the client has its answer';
      const told = [
        back.length === 0
          ? `no other node answers ${end}`
          : `${listOf(back.map((lane) => `${place(lane)}${saidBy(answersOf(lane))}`))} answer${back.length === 1 ? 's' : ''} ${end}`,
        out.length === 0 ? '' : `${listOf(out.map(place))} not`,
      ].filter(Boolean);
      const who = handleOf(this.#run, one);
      // Who carries out a request for another node asks the other holders itself.
      const isForwarded = kinds.some((kind) => !copyRequests.includes(kind));
      const holders = isForwarded
        ? []
        : this.#holdersOf(one).filter((lane) => lane !== one.node && !asked.includes(lane));
      const unasked =
        holders.length === 0
          ? ''
          : ` ${listOf(holders.map(place))} ${holders.length === 1 ? 'holds' : 'hold'} a copy, too, and ${holders.length === 1 ? 'is' : 'are'} not asked.`;
      if (asked.length === 0)
        return [`For ${who}, ${place(one.node)} asks no other node about it before it answers.${unasked}`];
      return [
        `For ${who}, ${place(one.node)} asks ${listOf(asked.map(place))} (${kinds.join(', ')}); ${told.join(', ')}.${unasked}${this.#repairsOf(one)}${this.#tooFew(one, isForwarded ? undefined : back.length)}`,
      ];
    });
  }

  /** Where a write lacks promised copies: what its coordinator knew of when it answered. `answers`: of other nodes. */
  #tooFew(one: RecordedOperation, answers: number | undefined): string {
    const { node, text } = one;
    const [, durable, promised] = / (\d+) of (\d+) promised durable copies/.exec(this.#concern.text) ?? [];
    if (durable === undefined || answers === undefined || !writeForm.test(text)) return '';
    if (answers + 1 >= Number(promised)) return '';
    return ` So ${placeOf(this.#run, node)} counts ${promised} copies where it knows of ${answers + 1} at most: its own and ${answers} of other nodes.${this.#answersToOthers(one)}`;
  }

  /** Answers about other keys that reach the node just before it answers: it may take them for answers about this one. */
  #answersToOthers({ node, invokedUs, completedUs, about }: RecordedOperation): string {
    const { messages, messageKinds, subjects } = this.#run;
    const last = messages.filter(
      (one) =>
        one.to === node &&
        messageKinds[one.kind] === 'written' &&
        one.arrivedUs >= invokedUs &&
        one.arrivedUs <= completedUs &&
        one.about.length > 0 &&
        !one.about.some((key) => about.includes(key)),
    );
    const told = last.slice(-arrivalsMax).map((one) => {
      const keys = listOf(one.about.map((key) => subjects[key] ?? ''));
      return `${placeOf(this.#run, one.from)} has written ${keys} (${seconds(one.arrivedUs)})`;
    });
    return told.length === 0 ? '' : ` Meanwhile it hears about other keys: ${told.join('; ')}.`;
  }

  /** Which copies the node writes anew after a read, where replicas were to become equal. */
  #repairsOf({ node, invokedUs, completedUs, about, text }: RecordedOperation): string {
    if (this.#concern.invariant !== 'convergence' || !readForm.test(text) || completedUs < 0) return '';
    const { messages, messageKinds } = this.#run;
    const repaired = messages.filter(
      ({ from, kind, sentUs, about: keys }) =>
        from === node &&
        messageKinds[kind] === 'mergeObject' &&
        sentUs >= invokedUs &&
        sentUs <= completedUs + repairUs &&
        keys.some((key) => about.includes(key)),
    );
    const peers = [...new Set(repaired.map(({ to }) => placeOf(this.#run, to)))];
    return peers.length === 0
      ? ' After this read it repairs no copy of another node.'
      : ` After this read it repairs the copies of ${listOf(peers)}.`;
  }

  /** The nodes that hold a copy of the key of an operation on one key, sooner or later. */
  #holdersOf({ about, text }: RecordedOperation): readonly number[] {
    if (about.length !== 1 || !objectForm.test(text)) return [];
    const { states } = this.#run;
    return [...new Set(states.filter(({ key }) => about.includes(key)).map(({ lane }) => lane))].toSorted(
      (left, right) => left - right,
    );
  }

  /** Which nodes had a key's value on their disks when the client had its answer, synced or not, and what they lost. */
  copies(): readonly string[] {
    if (!aboutCopies.includes(this.#concern.invariant)) return [];
    const { states, subjects } = this.#run;
    const first = this.#concerned().at(0);
    const named = [...this.#subjects].filter((key) => states.some((state) => state.key === key));
    // What the violation names last is what it is about: `... has 1 of 2 copies`.
    const placeIn = (key: number): number => this.#concern.text.lastIndexOf(subjects[key] ?? '');
    const keys = named.toSorted((left, right) => placeIn(right) - placeIn(left)).slice(0, keysMax);
    return keys.map((key) => newCopies(this.#run, key, first));
  }

  /** Where the value of the first concerned write got lost, node by node. */
  losses(): readonly string[] {
    const write = this.#lostWrite();
    if (write === undefined) return [];
    const losses = lostValuesOf(this.#run, write);
    const told = losses.slice(0, lossesMax).map(({ lane, atUs, holds, othersLost, reasons }) => {
      const short = holds.length > heldMax ? `${holds.slice(0, heldMax)}…` : holds;
      const also = othersLost === 0 ? '' : ` (${othersLost} other values that it held are gone, too)`;
      const why = reasons.length === 0 ? '' : `, ${reasons.join(', ')}`;
      return `from ${seconds(atUs)} on ${placeOf(this.#run, lane)} lacks it, and holds ${short}${also}${why}`;
    });
    const who = handleOf(this.#run, write);
    const [first] = losses;
    const { sameActor } = first ?? {};
    const actor =
      first === undefined || sameActor === undefined
        ? ''
        : ` There ${placeOf(this.#run, first.lane)} wrote ${sameActor.value} as the actor of the lost value (${sameActor.actor}): to every replica a value has seen the earlier ones of its actor.`;
    return told.length === 0 ? [] : [`Where the value of ${who} got lost: ${told.join('; ')}.${actor}`];
  }

  /** Nodes that call a running peer DOWN: it gets no copies from them. */
  views(): readonly string[] {
    const views = wrongViewsOf(this.#run);
    const place = (lane: number): string => placeOf(this.#run, lane);
    const told = views.slice(0, viewsMax).map(({ lane, peer, sinceUs, startedUs }) => {
      const since = `since ${seconds(sinceUs)}`;
      return `${place(lane)} has called ${place(peer)} DOWN ${since}, although it has run since ${seconds(startedUs)}`;
    });
    const more = views.length > told.length ? `; ${views.length - told.length} more views are as wrong` : '';
    return told.length === 0 ? [] : [`At that moment ${told.join('; ')}${more}.`];
  }

  /** The tombstone of a concerned key that was the youngest when it was reaped, and at which nodes. */
  reaped(): readonly string[] {
    if (!aboutCopies.includes(this.#concern.invariant)) return [];
    const { subjects, plan } = this.#run;
    const grace = plan.settings['tombstone_grace_seconds'];
    const clause = grace === undefined ? '' : ` (tombstone_grace_seconds ${String(grace)})`;
    return [...this.#subjects].slice(0, keysMax).flatMap((key) => {
      const all = reapedTombstonesOf(this.#run, key);
      const [first] = all;
      if (first === undefined) return [];
      const others = all.filter(
        ({ lane, atUs }) => Math.abs(atUs - first.atUs) < sameReapUs && lane !== first.lane,
      );
      const nodes = listOf([first, ...others].map(({ lane }) => placeOf(this.#run, lane)));
      return [
        `The tombstone of ${subjects[key] ?? ''}: at ${seconds(first.atUs)} ${nodes} ${others.length === 0 ? 'removes' : 'remove'} it for good, ${seconds(first.ageUs)} after it was written${clause}.`,
      ];
    });
  }

  /** What nodes refuse again and again until the violation: it has no end by itself. */
  repeats(): readonly string[] {
    const told = repeatsOf(this.#run)
      .slice(0, repeatsMax)
      .map(({ mark, count, sinceUs }) => {
        const deed = deedOf(mark);
        return `${placeOf(this.#run, mark.lane)} ${deed}, ${count} times since ${seconds(sinceUs)}`;
      });
    return told.length === 0 ? [] : [`Again and again until then: ${told.join('; ')}.`];
  }

  /** The write that the violation says is lost. */
  #lostWrite(): RecordedOperation | undefined {
    if (!aboutCopies.includes(this.#concern.invariant)) return undefined;
    return this.#concerned().find(({ text }) => writeForm.test(text));
  }

  /** What the nodes concerned did last before the violation; before a value got lost, where one did. */
  before(): readonly string[] {
    const write = this.#lostWrite();
    const losses = write === undefined ? [] : lostValuesOf(this.#run, write);
    const endUs = losses[0]?.atUs ?? this.#concern.atUs;
    const lanes = losses.length === 0 ? this.#lanes : new Set(losses.map(({ lane }) => lane));
    const stormUs = this.#run.phases.find(({ name }) => name === 'storm')?.atUs ?? 0;
    // What happens before the storm is the cluster's start.
    const fromUs = stormUs < endUs ? stormUs : 0;
    const seen =
      this.#passing === undefined
        ? undefined
        : new Set(this.#passing.marks.map((mark) => nameOf(this.#passing, mark)));
    const counts = new Map<string, number>();
    for (const mark of this.#run.marks) {
      const event = eventOf(mark);
      counts.set(event, (counts.get(event) ?? 0) + 1);
    }
    const scored = this.#run.marks
      .filter(
        (mark) => mark.atUs <= endUs && mark.atUs >= fromUs && this.#isNode(mark.lane) && !isQuiet(mark),
      )
      .filter(({ text }) => !isMalformedInput(text) || isMalformedInput(this.#concern.text))
      .map((mark) => {
        const isAbout = mark.about.some((subject) => this.#subjects.has(subject));
        // Of what the violation is about, the last events tell most; of all else, the rare ones.
        const rarity = isAbout ? 1 : Math.min(2, 4 / (counts.get(eventOf(mark)) ?? 1));
        const score =
          (isAbout ? 4 : 0) +
          (lanes.has(mark.lane) ? 2 : 0) +
          (this.#namesConcerned(mark) ? 2 : 0) +
          (seen?.has(nameOf(this.#run, mark)) === false ? 2 : 0) +
          (mark.kind === 'fault' || mark.kind === 'crash' ? 1 : 0) +
          (isRefusal(mark.text) ? 2 : 0) +
          rarity -
          (isEveryday(mark.text) ? 4 : 0);
        return { mark, score };
      })
      .filter(({ score }) => score > 2);
    const best = scored.toSorted(
      (left, right) => right.score - left.score || right.mark.atUs - left.mark.atUs,
    );
    // Of equal events, the last one.
    const names = best.map(({ mark }) => nameOf(this.#run, mark));
    const marks = best
      .filter((_, at) => names.indexOf(names[at] ?? '') === at)
      .slice(0, deedsMax)
      .map(({ mark }) => mark);
    const deeds = this.#told(marks.toSorted((left, right) => left.atUs - right.atUs));
    return deeds.length === 0
      ? []
      : [`Before ${losses.length === 0 ? 'it' : 'it got lost'}: ${deeds.join('; ')}.`];
  }

  /** What a node that died does, after its start, about what the violation is about; that it does nothing counts, too. */
  afterStart(): readonly string[] {
    const { marks, subjects } = this.#run;
    const { atUs: endUs } = this.#concern;
    return [...this.#lanes].slice(0, 2).flatMap((lane) => {
      const mine = marks.filter((mark) => mark.lane === lane && mark.atUs <= endUs);
      const died = mine.findLast(({ kind }) => kind === 'crash');
      const started = mine.find(({ kind, atUs }) => kind === 'start' && atUs > (died?.atUs ?? endUs));
      if (died === undefined || started === undefined) return [];
      const about = mine.filter(
        (mark) => mark.atUs >= started.atUs && mark.about.some((subject) => this.#subjects.has(subject)),
      );
      const node = placeOf(this.#run, lane);
      if (about.length > 0) {
        const deeds = this.#told(about.slice(0, deedsMax));
        return [`After its start at ${seconds(started.atUs)}: ${deeds.join('; ')}.`];
      }
      const [subject] = this.#concern.subjects.toReversed();
      if (subject === undefined) return [];
      return [
        `After its start at ${seconds(started.atUs)}, ${node} does nothing about ${subjects[subject] ?? ''}.`,
      ];
    });
  }

  /** Events of the one run that the other has not, up to the violation. */
  difference(): readonly string[] {
    const passing = this.#passing;
    if (passing === undefined) return [];
    const endUs = this.#concern.atUs;
    const subjects = new Set([...this.#subjects].map((subject) => this.#run.subjects[subject] ?? ''));
    const only = (run: Recording, other: Recording): readonly Mark[] => {
      const known = new Set(other.marks.map((mark) => nameOf(other, mark)));
      const news = run.marks.filter(
        (mark) =>
          mark.atUs <= endUs &&
          mark.kind !== 'fault' &&
          run.lanes[mark.lane]?.kind === 'node' &&
          !isQuiet(mark) &&
          !isEveryday(mark.text) &&
          (subjects.size === 0 || mark.about.some((subject) => subjects.has(run.subjects[subject] ?? ''))) &&
          !known.has(nameOf(run, mark)),
      );
      const firsts = new Map(news.toReversed().map((mark) => [nameOf(run, mark), mark]));
      return [...firsts.values()].toSorted((left, right) => left.atUs - right.atUs).slice(0, 3);
    };
    const tell = (run: Recording, marks: readonly Mark[]): string =>
      marks.map((mark) => `${placeOf(run, mark.lane)} ${deedOf(mark)} (${seconds(mark.atUs)})`).join('; ');
    const [here, there] = [only(this.#run, passing), only(passing, this.#run)];
    return [
      here.length === 0 ? '' : `Only in the failing run: ${tell(this.#run, here)}.`,
      there.length === 0 ? '' : `Only in the nearest passing run: ${tell(passing, there)}.`,
    ];
  }

  #concerned(): readonly RecordedOperation[] {
    const { operations } = this.#run;
    return this.#concern.operations
      .flatMap((at) => operations[at] ?? [])
      .filter(({ node }) => node >= 0)
      .slice(-operationsMax);
  }

  /** Where the violation names a key and no operation: the last acknowledged write of the key before it. */
  #lastWrites(): readonly RecordedOperation[] {
    if (!aboutCopies.includes(this.#concern.invariant)) return [];
    const last = this.#run.operations.findLast(
      ({ text, about, node, outcome, completedUs }) =>
        node >= 0 &&
        outcome === 'ok' &&
        completedUs <= this.#concern.atUs &&
        writeForm.test(text) &&
        about.some((subject) => this.#subjects.has(subject)),
    );
    return last === undefined ? [] : [last];
  }

  /** Where replicas were to become equal: the last read of the key, which is to repair what it finds. */
  #lastReads(): readonly RecordedOperation[] {
    if (this.#concern.invariant !== 'convergence') return [];
    const last = this.#run.operations.findLast(
      ({ text, about, node, completedUs }) =>
        node >= 0 &&
        completedUs >= 0 &&
        completedUs <= this.#concern.atUs &&
        readForm.test(text) &&
        about.some((subject) => this.#subjects.has(subject)),
    );
    return last === undefined ? [] : [last];
  }

  /** Deeds in order; nodes that do the same are one deed. */
  #told(marks: readonly Mark[]): readonly string[] {
    const groups = new Map<string, { atUs: number; readonly lanes: Set<number> }>();
    for (const mark of marks) {
      const deed = deedOf(mark);
      const group = groups.get(deed) ?? { atUs: mark.atUs, lanes: new Set<number>() };
      group.lanes.add(mark.lane);
      groups.set(deed, group);
    }
    return [...groups].map(([deed, { atUs, lanes }]) => {
      const nodes = listOf([...lanes].map((lane) => placeOf(this.#run, lane)));
      return `at ${seconds(atUs)} ${nodes}${lanes.size > 1 ? ' each' : ''} ${deed}`;
    });
  }

  /** Whether another node's event is about a node that the violation names: its peer. */
  #namesConcerned({ lane, text }: Mark): boolean {
    if (this.#lanes.has(lane)) return false;
    const peer = /\bpeer=(\S+)/.exec(text)?.[1];
    return [...this.#lanes].some((one) => this.#run.lanes[one]?.name === peer);
  }

  #isNode(lane: number): boolean {
    return this.#run.lanes[lane]?.kind === 'node';
  }
}

const nothing: NonNullable<Recording['concern']> = {
  ...{ atUs: 0, text: '', invariant: '', promise: '', breach: '' },
  ...{ subjects: [], lanes: [], operations: [] },
};

/** The name of a mark's event. */
function eventOf({ text }: Mark): string {
  return text.slice(0, text.indexOf(' ') < 0 ? text.length : text.indexOf(' '));
}

/** Syncs are shown with the copies that they make durable; a message that is refused is shown as not sent. */
function isQuiet({ kind, text }: Mark): boolean {
  return kind === 'sync' || text.startsWith('dispatch.peer.refused ');
}

/** Whether a text tells of bytes that an unauthenticated client sent: every run with malformed input has many. */
function isMalformedInput(text: string): boolean {
  return /\bstrangers?\b/.test(text);
}

/** Equal for the same event of two runs: numbers and ids, which differ between runs, are left out. */
function nameOf(run: Recording | undefined, { lane, text }: Mark): string {
  const words = text.replace(/\b(?=\w*\d)[0-9a-f]{6,}\b/g, '#').replace(/=\d+(\.\d+)?(?= |$)/g, '=#');
  return `${run?.lanes[lane]?.name ?? ''} ${words.replace(/-#-\d+/g, '-#')}`;
}
