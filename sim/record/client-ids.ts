/**
 * The idempotency key that a violation is about, and which nodes had a record of it on their disks, and until when.
 * Pure: it reads recordings.
 */
import { BytesError } from '../../engine/base/bytes.ts';
import { textOf } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { systemKey } from '../../engine/base/object-key.ts';
import { clientBucket, isFence, readClient } from '../../engine/transactions/formats/idempotency-records.ts';
import type { ByteString } from '../../engine/base/ids.ts';
import { fieldsOf } from './event-words.ts';
import { underId } from './message-words.ts';
import { listOf, placeOf, seconds } from './places.ts';
import type { Recording } from './recording.ts';

/** What a client calls its idempotency key: `x5/48`. */
const idForm = /\b[a-z]+\d+\/\d+\b/;
const recordPrefix = systemKey(clientBucket, '' as ByteString);
/** Most changes of the records that are shown. */
const changesMax = 8;

/** The idempotency key whose record this key of the engine's own names; undefined for other keys. */
export function idInKey(key: PackedKey): string | undefined {
  return key.startsWith(recordPrefix) ? textOf(key.slice(recordPrefix.length) as ByteString) : undefined;
}

/** `n1-0123456789ab-7`, or `a fence after n1-0123456789ab-7`: what the record under an idempotency key says. */
export function recordWords(value: Uint8Array | undefined): string {
  if (value === undefined) return 'nothing';
  try {
    const record = readClient(value);
    return isFence(record) ? `a fence after ${record.xid}` : record.xid;
  } catch (error) {
    // A fault altered it on the disk, or a later build wrote it.
    if (error instanceof BytesError) return 'an unreadable record';
    throw error;
  }
}

/** The idempotency key that the violation names, or under which a client sent its transactions. */
export function idOf(run: Recording): string | undefined {
  const { concern, marks, messages, subjects } = run;
  const named = idForm.exec(concern?.text ?? '')?.[0];
  if (named !== undefined || concern === undefined) return named;
  const xids = new Set(concern.subjects.map((subject) => subjects[subject] ?? ''));
  for (const { text } of marks) {
    if (!text.startsWith('xa.c.begin ')) continue;
    const fields = fieldsOf(text);
    const client = fields.get('client') ?? '';
    if (client !== '' && xids.has(fields.get('xid') ?? '')) return client;
  }
  const asked = messages.find(
    ({ about, detail }) =>
      detail?.startsWith(underId) === true && about.some((subject) => concern.subjects.includes(subject)),
  );
  return asked?.detail?.slice(underId.length);
}

/** Which nodes had a record of the violation's idempotency key on their disks; none where there is no such key. */
export function idRecordsOf(run: Recording): readonly string[] {
  const id = idOf(run);
  if (id === undefined) return [];
  const subject = run.subjects.indexOf(id);
  const states = run.states.filter(({ key }) => key === subject && subject >= 0);
  const lanes = run.lanes.flatMap(({ kind }, lane) => (kind === 'node' ? [lane] : []));
  const without = lanes.filter((lane) => states.every((state) => state.lane !== lane));
  const told = states.slice(0, changesMax).map(({ lane, atUs, text }) => {
    const holds = text === 'nothing' ? 'no record any more' : `a record of ${text}`;
    return `from ${seconds(atUs)} on ${placeOf(run, lane)} has ${holds}`;
  });
  if (told.length === 0) return [`No node's disk ever has a record of the id ${id}.`];
  const never =
    without.length === 0
      ? ''
      : `; ${listOf(without.map((lane) => placeOf(run, lane)))} never ${without.length === 1 ? 'has' : 'have'} one`;
  return [`Records of the id ${id} on disks: ${told.join('; ')}${never}.`];
}
