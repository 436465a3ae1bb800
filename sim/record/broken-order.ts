/**
 * Finds steps of transactions that no correct node takes in that order: a record called synced although no file was
 * synced since it was written, a branch prepared again after its end, a commit decided without a vote, a client answered
 * before the decision is synced; also writes that a node makes durable while it holds them back for a backup. Pure: it
 * reads recordings.
 */
import { fieldsOf } from './event-words.ts';
import type { Mark, RecordedOperation, Recording } from './recording.ts';

/** A step that came too early, or that may not have come at all. */
export interface BrokenOrder {
  readonly lane: number;
  readonly atUs: number;
  /** The transaction's id; empty for steps of a backup. */
  readonly xid: string;
  /** What the node does, without its name: `calls the decision of t3 synced`. */
  readonly deed: string;
  /** Why it may not: a clause after `although`. */
  readonly although: string;
}

/** The record that each step makes durable, by the step that says so; and the step that writes it. */
const records: Readonly<Record<string, { readonly written: string; readonly what: string }>> = {
  'xa.c.decision.synced': { written: 'xa.c.decision.written', what: 'the decision' },
  'xa.p.prepareRec.synced': { written: 'xa.p.prepareRec.written', what: 'the prepare record' },
  'xa.p.applied.synced': { written: 'xa.p.applied', what: 'the writes' },
};

/** Events at which a node no longer holds its writes back, or has kept the files of that moment. */
const endsHold = /^backup\.(segments\.pinned|writes\.resumed) /;
/** Syncs of the log that writes go to. */
const storeLog = /what=store\/\d+\.log/;

/** What the nodes have done in one transaction. */
interface Course {
  /** By node and step: when it was taken last in this incarnation, and how many files the node had synced then. */
  readonly steps: Map<string, { readonly atUs: number; readonly syncs: number }>;
  /** At the coordinator: the branches that it asks, and their votes. */
  readonly branches: Set<string>;
  readonly votes: Map<string, string>;
  /** The first node that learnt each decision. */
  readonly decisions: Map<string, { readonly lane: number; readonly atUs: number }>;
}

/** The broken orders up to the violation, in the order of time. */
export function brokenOrdersOf(run: Recording): readonly BrokenOrder[] {
  const search = new OrderSearch(run);
  const endUs = run.concern?.atUs ?? Number.POSITIVE_INFINITY;
  for (const mark of run.marks) {
    if (mark.atUs > endUs) break;
    search.add(mark);
  }
  for (const operation of run.operations) search.answered(operation);
  return search.found.toSorted((left, right) => left.atUs - right.atUs);
}

class OrderSearch {
  readonly found: BrokenOrder[] = [];
  readonly #run: Recording;
  readonly #courses = new Map<string, Course>();
  /** Files that each node has synced, and its incarnation. */
  readonly #syncs = new Map<number, number>();
  readonly #lives = new Map<number, number>();
  /** Nodes that hold their writes back for a backup, and have not pinned their files: since when. */
  readonly #holding = new Map<number, number>();

  constructor(run: Recording) {
    this.#run = run;
  }

  add(mark: Mark): void {
    const { lane, kind, text } = mark;
    if (kind === 'sync') this.#syncs.set(lane, this.#syncsOf(lane) + 1);
    this.#held(mark);
    if (kind === 'crash' || kind === 'start') this.#lives.set(lane, this.#lifeOf(lane) + 1);
    if (kind !== 'step') return;
    const [step = '', ...rest] = text.split(' ');
    const fields = fieldsOf(rest.join(' '));
    const xid = fields.get('xid');
    if (xid === undefined) return;
    const course = this.#courses.get(xid) ?? newCourse();
    this.#courses.set(xid, course);
    const tell = (deed: string, although: string): void => {
      this.found.push({ lane, atUs: mark.atUs, xid, deed, although });
    };
    this.#synced(course, mark, step, tell);
    this.#voted(course, mark, step, fields, tell);
    this.#decided(course, mark, step, fields, tell);
    course.steps.set(this.#stepName(lane, step), { atUs: mark.atUs, syncs: this.#syncsOf(lane) });
  }

  /** A client that has the answer that a transaction is committed: its text names the transaction. */
  answered({ outcome, completedUs, node, text }: RecordedOperation): void {
    const xid = / (\S+) committed: /.exec(text)?.[1];
    if (xid === undefined || outcome !== 'ok' || completedUs < 0) return;
    const steps = this.#courses.get(xid)?.steps;
    const written = steps?.get(this.#stepName(node, 'xa.c.decision.written'));
    const synced = steps?.get(this.#stepName(node, 'xa.c.decision.synced'));
    if (written === undefined || written.atUs > completedUs) return;
    if (synced !== undefined && synced.atUs <= completedUs) return;
    const atUs = completedUs;
    const although = 'the decision is written and not synced';
    this.found.push({
      lane: node,
      atUs,
      xid,
      deed: `has answered its client that ${xid} is committed`,
      although,
    });
  }

  /** A node whose writes are held makes none durable before it has pinned its files. */
  #held({ lane, atUs, kind, text }: Mark): void {
    const sinceUs = this.#holding.get(lane);
    if (text.startsWith('backup.writes.held ')) this.#holding.set(lane, atUs);
    if (endsHold.test(text) || kind === 'crash') this.#holding.delete(lane);
    if (sinceUs === undefined || kind !== 'sync' || !storeLog.test(text)) return;
    this.#holding.delete(lane);
    const although = `it holds its writes back for a backup since ${atSeconds(sinceUs)}`;
    this.found.push({ lane, atUs, xid: '', deed: 'makes writes durable', although });
  }

  #synced({ steps }: Course, { lane, text }: Mark, step: string, tell: Tell): void {
    const record = records[step];
    const written = record && steps.get(this.#stepName(lane, record.written));
    if (record === undefined || written === undefined || written.syncs < this.#syncsOf(lane)) return;
    const xid = fieldsOf(text).get('xid') ?? '';
    tell(`goes on as if ${record.what} of ${xid} were synced`, 'it has synced no file since it wrote that');
  }

  #voted({ steps }: Course, { lane }: Mark, step: string, fields: Fields, tell: Tell): void {
    const xid = fields.get('xid') ?? '';
    const taken = (name: string): boolean => steps.has(this.#stepName(lane, name));
    if (step === 'xa.p.vote.sent' && fields.get('vote') === 'commit') {
      if (taken('xa.p.prepareRec.written') && !taken('xa.p.prepareRec.synced'))
        tell(`votes commit on ${xid}`, 'its prepare record is not synced');
    }
    const ended = steps.get(this.#stepName(lane, 'xa.p.locks.released'));
    if (step === 'xa.p.locks.taken' && fields.get('phase') === 'preparing' && ended !== undefined)
      tell(`prepares ${xid} again`, `it has ended its branch of ${xid} (${atSeconds(ended.atUs)})`);
  }

  #decided(course: Course, { lane, atUs }: Mark, step: string, fields: Fields, tell: Tell): void {
    const xid = fields.get('xid') ?? '';
    const { branches, votes, decisions, steps } = course;
    if (step === 'xa.c.begin') {
      votes.clear();
      branches.clear();
      for (const name of (fields.get('branches') ?? '').split(' ')) branches.add(name);
    }
    if (step === 'xa.c.vote.recv') votes.set(fields.get('from') ?? '', fields.get('vote') ?? '');
    if (step === 'xa.c.decision.beforeLog') {
      const lacking = [...branches].filter((name) => !['commit', 'readOnly'].includes(votes.get(name) ?? ''));
      const [first] = lacking;
      if (first !== undefined) {
        const vote = votes.get(first);
        tell(
          `decides to commit ${xid}`,
          vote === undefined ? `${first} has not voted` : `${first} voted ${vote}`,
        );
      }
    }
    if (step === 'xa.c.commit.sent') {
      const isWritten = steps.has(this.#stepName(lane, 'xa.c.decision.written'));
      if (isWritten && !steps.has(this.#stepName(lane, 'xa.c.decision.synced')))
        tell(`tells ${fields.get('to') ?? ''} to commit ${xid}`, 'the decision is not synced');
    }
    const decision = step === 'xa.p.decision.recv' ? fields.get('decision') : undefined;
    if (decision === undefined) return;
    const [other] = [...decisions].filter(([name]) => name !== decision).map(([, one]) => one);
    if (other !== undefined && !decisions.has(decision)) {
      const name = this.#run.lanes[other.lane]?.name ?? '';
      const opposite = decision === 'commit' ? 'rollback' : 'commit';
      tell(
        `learns the decision ${decision} of ${xid}`,
        `${name} has learnt ${opposite} (${atSeconds(other.atUs)})`,
      );
    }
    if (!decisions.has(decision)) decisions.set(decision, { lane, atUs });
  }

  #syncsOf(lane: number): number {
    return this.#syncs.get(lane) ?? 0;
  }

  #lifeOf(lane: number): number {
    return this.#lives.get(lane) ?? 0;
  }

  #stepName(lane: number, step: string): string {
    return `${lane} ${this.#lifeOf(lane)} ${step}`;
  }
}

type Tell = (deed: string, although: string) => void;
type Fields = ReadonlyMap<string, string>;

function newCourse(): Course {
  return { steps: new Map(), branches: new Set(), votes: new Map(), decisions: new Map() };
}

function atSeconds(us: number): string {
  return `${(us / 1_000_000).toFixed(4)} s`;
}
