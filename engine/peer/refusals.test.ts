import { expect, test } from 'vitest';
import type { Clock } from '../io/clock.ts';
import type { LogFields, LogLevel } from '../io/log.ts';
import type { RefusalReason } from './wire/greetings.ts';
import type { Refused } from './refusals.ts';
import { Refusals } from './refusals.ts';

const minuteUs = 60_000_000;

/** Records the log's lines at `warn`, and counts those of all levels. */
function room(): {
  readonly refusals: Refusals;
  readonly warned: LogFields[];
  readonly counts: { debug: number; refused: number };
  pass(us: number): void;
} {
  let nowUs = 0;
  const warned: LogFields[] = [];
  const counts = { debug: 0, refused: 0 };
  const clock: Clock = {
    nowUs: () => nowUs,
    wallMs: () => 0,
    after: () => ({ cancel: () => undefined }),
  };
  const log = {
    enabled: () => true,
    event: (level: LogLevel, _name: string, fields: LogFields = {}) => {
      if (level === 'warn') warned.push(fields);
      else counts.debug += 1;
    },
  };
  const refusals = new Refusals({ clock, log }, { peerRefused: () => (counts.refused += 1) });
  return { refusals, warned, counts, pass: (us) => (nowUs += us) };
}

const here: Refused = { peer: 'n2', direction: 'inbound', by: 'refused here', remote: '10.0.0.2:4000' };
const why = (reason: RefusalReason) => ({ reason, detail: `it is ${reason}` });

test('a refusal is logged as a warning once, however often it comes, and again when its reason changes', () => {
  const { refusals, warned, counts } = room();
  for (let attempt = 0; attempt < 50; attempt++) {
    refusals.tell({ ...here, remote: `10.0.0.2:${4000 + attempt}` }, why('unknown'));
  }
  refusals.tell(here, why('duplicateToken'));
  refusals.tell(here, why('duplicateToken'));
  expect(warned.map(({ reason }) => reason)).toEqual(['unknown', 'duplicateToken']);
  expect(warned[0]).toEqual({ ...here, reason: 'unknown', detail: 'it is unknown' });
  expect(counts).toEqual({ debug: 50, refused: 52 });
});

test('one that goes on is logged as a warning again after ten minutes, with its count meanwhile', () => {
  const { refusals, warned, pass } = room();
  for (let minute = 0; minute <= 20; minute++, pass(minuteUs)) refusals.tell(here, why('cluster'));
  expect(warned.map(({ repeats }) => repeats)).toEqual([undefined, 10, 10]);
});

test('peers, directions and sides are told apart; the port of a caller is not', () => {
  const { refusals, warned } = room();
  const others: Refused[] = [
    { ...here, peer: 'n3' },
    { ...here, remote: '10.0.0.3:4000' },
    { ...here, by: 'refused by the peer' },
    { peer: 'n2', direction: 'outbound', by: 'refused here' },
  ];
  for (const refused of [here, ...others, ...others]) refusals.tell(refused, why('unknown'));
  expect(warned).toHaveLength(5);
});

test('after an accepted greeting the next refusal is logged as a warning', () => {
  const { refusals, warned } = room();
  refusals.tell(here, why('unknown'));
  refusals.over({ ...here, remote: '10.0.0.2:4001' });
  refusals.tell(here, why('unknown'));
  expect(warned).toHaveLength(2);
});

test('what refuses a connection of this node now is the last refusal of it, until it is over or a minute old', () => {
  const { refusals, pass } = room();
  const outbound: Refused = { peer: 'n2', direction: 'outbound', by: 'refused by the peer' };
  refusals.tell(here, why('unknown'));
  expect(refusals.current('n2')).toBeUndefined();
  refusals.tell(outbound, why('version'));
  pass(minuteUs);
  refusals.tell(outbound, { reason: 'version', detail: 'it is version, still' });
  pass(minuteUs);
  const { peer, by } = outbound;
  expect(refusals.current('n2')).toEqual({ peer, by, reason: 'version', detail: 'it is version, still' });
  refusals.tell({ ...outbound, by: 'refused here' }, why('cluster'));
  pass(1);
  expect(refusals.current('n2')).toMatchObject({ by: 'refused here', reason: 'cluster' });
  refusals.over({ ...outbound, by: 'refused here' });
  expect(refusals.current('n2')).toBeUndefined();
});

test('unauthenticated clients with ever new names displace each other, not a peer that keeps trying', () => {
  const { refusals, warned } = room();
  refusals.tell(here, why('unknown'));
  for (let index = 0; index < 5000; index++) {
    refusals.tell({ ...here, peer: `x${index}` }, why('unknown'));
    if (index % 100 === 0) refusals.tell(here, why('unknown'));
  }
  expect(warned.filter(({ peer }) => peer === 'n2')).toHaveLength(1);
  refusals.tell({ ...here, peer: 'x0' }, why('unknown'));
  expect(warned.filter(({ peer }) => peer === 'x0')).toHaveLength(2);
});
