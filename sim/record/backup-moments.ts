/**
 * Where transactions stood at each node at the moment that a backup keeps. A transaction that was decided then, and
 * applied at some of its nodes only, is restored from the prepare record of the others. Pure: it reads recordings.
 */
import { fieldsOf } from './event-words.ts';
import { listOf, placeOf, seconds } from './places.ts';
import type { Mark, Recording } from './recording.ts';

/** Most sentences. */
const toldMax = 2;

/** Up to where a node has come with its branch of a transaction. */
const branchSteps: Readonly<Record<string, string>> = {
  'xa.p.prepareRec.synced': 'prepared',
  'xa.p.decision.recv': 'told the decision',
  'xa.p.applied.synced': 'applied',
  // A coordinator's own branch is applied with its decision, and has no step of its own for that.
  'xa.p.locks.released': 'applied',
};
/** Every branch has acknowledged its writes by then. */
const endStep = 'xa.c.forget';
const decisionStep = 'xa.c.decision.synced';

/** One backup whose files were kept: since when, and at each node when. */
interface KeptMoment {
  readonly id: string;
  readonly atUs: ReadonlyMap<number, number>;
}

/** A sentence for each backup that caught one of the violation's transactions half applied. */
export function backupMoments(run: Recording): readonly string[] {
  const { concern, subjects } = run;
  if (concern?.invariant !== 'backup-consistency') return [];
  const named = new Set(concern.subjects.map((subject) => subjects[subject] ?? ''));
  const steps = stepsByTransaction(run.marks, named);
  return momentsOf(run)
    .flatMap((moment) => [...steps].flatMap(([xid, marks]) => caughtHalf(run, moment, xid, marks)))
    .slice(0, toldMax);
}

/** The backups that kept files: those that were tried in vain kept none, or ended before all had. */
function momentsOf({ marks, operations }: Recording): readonly KeptMoment[] {
  const moments = new Map<string, Map<number, number>>();
  for (const { lane, atUs, text } of marks) {
    if (!text.startsWith('backup.segments.pinned ')) continue;
    const id = fieldsOf(text).get('id') ?? '';
    moments.set(id, (moments.get(id) ?? new Map<number, number>()).set(lane, atUs));
  }
  // `k1-3` is the third attempt at the backup `k1`.
  const done = operations.filter(
    ({ text, outcome }) => outcome === 'ok' && text.includes(' takes a backup '),
  );
  return [...moments]
    .filter(([id]) => done.some((one) => id.startsWith(`${one.id}-`)))
    .map(([id, atUs]) => ({ id, atUs }));
}

function stepsByTransaction(
  marks: readonly Mark[],
  named: ReadonlySet<string>,
): ReadonlyMap<string, readonly Mark[]> {
  const steps = new Map<string, Mark[]>();
  for (const mark of marks) {
    if (mark.kind !== 'step') continue;
    const xid = fieldsOf(mark.text).get('xid') ?? '';
    if (!named.has(xid)) continue;
    const known = steps.get(xid);
    if (known === undefined) steps.set(xid, [mark]);
    else known.push(mark);
  }
  return steps;
}

function caughtHalf(
  run: Recording,
  { id, atUs }: KeptMoment,
  xid: string,
  marks: readonly Mark[],
): readonly string[] {
  const nameOf = ({ text }: Mark): string => text.slice(0, text.indexOf(' '));
  const isKept = (mark: Mark): boolean => mark.atUs <= (atUs.get(mark.lane) ?? -1);
  if (marks.some((mark) => nameOf(mark) === endStep && isKept(mark))) return [];
  const decided = marks.find((mark) => nameOf(mark) === decisionStep && isKept(mark));
  const states = new Map<number, string>();
  for (const mark of marks) {
    const state = branchSteps[nameOf(mark)];
    if (state !== undefined && isKept(mark)) states.set(mark.lane, state);
  }
  const inState = (isIt: (state: string) => boolean): readonly number[] =>
    [...states].flatMap(([lane, state]) => (isIt(state) ? [lane] : []));
  const applied = inState((state) => state === 'applied');
  const open = inState((state) => state !== 'applied');
  if (open.length === 0 || (applied.length === 0 && decided === undefined)) return [];
  const places = (lanes: readonly number[]): string => listOf(lanes.map((lane) => placeOf(run, lane)));
  const outcome =
    decided === undefined
      ? 'its decision is not among what the backup keeps'
      : `${placeOf(run, decided.lane)} has synced its decision to commit (${seconds(decided.atUs)})`;
  const first = open[0] ?? -1;
  const keys = marks
    .filter(({ lane, text }) => open.includes(lane) && text.startsWith('xa.p.locks.taken '))
    .map(({ text }) => fieldsOf(text).get('keys') ?? '');
  const what = [...new Set(keys)].join(' ');
  return [
    `The backup ${id} keeps what was on the disks at ${seconds(atUs.get(first) ?? 0)}. ${xid} was half done then: ${outcome}, ${applied.length === 0 ? 'no node has' : `${places(applied)} ${applied.length === 1 ? 'has' : 'have'}`} applied it, and ${places(open)} ${open.length === 1 ? 'has' : 'have'} prepared and not applied it. So the backup holds ${what === '' ? 'these writes' : `the write of ${what}`} in a prepare record alone, which a restore must complete.`,
  ];
}
