import { expect, it } from 'vitest';

import { messages } from '../../engine/api/pbc/schema.ts';
import type { AnswerTime } from '../check/cluster/answer-times.ts';
import { AnswerTimes } from './answer-times.ts';
import { ClientObserver } from './client-observer.ts';

const properties =
  'PUT /buckets/marked1/props HTTP/1.1\r\nHost: n1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n';

/** An error answer, with these lines in its head. */
function answer(status: number, code: string, more = ''): string {
  return `HTTP/1.1 ${status} x\r\nX-Lockstep-Error: ${code}\r\n${more}Content-Length: 19\r\n\r\nConnection: close\r\n`;
}

/** How a connection counts once a client has asked, been answered and left, and which errors it saw. */
function endOf(request: string, answered: string, stops = false): string {
  const observer = new ClientObserver(1024);
  observer.opened(1, true);
  observer.heard(1, Buffer.from(request));
  if (stops) observer.letGoOfHttp();
  observer.wrote(1, Buffer.from(answered));
  if (!stops) observer.toldEnd(1);
  observer.left(1);
  observer.closed(1, 'ended');
  const { eof, broken, errors } = observer.truth;
  return `eof ${eof}, broken ${broken}, ${JSON.stringify(errors)}`;
}

const closing = 'Connection: close\r\n';

it('a handler’s error about properties breaks no connection, even at a listener that stops', () => {
  const failed = answer(507, 'StorageFailed', closing);
  expect(endOf(`${properties}{}`, failed)).toBe('eof 1, broken 0, {"StorageFailed":1}');
  expect(endOf(`${properties}{}`, failed, true)).toBe('eof 0, broken 0, {"StorageFailed":1}');
});

it('a handler’s error about a listing, a bucket type, a backup or an upgrade breaks no connection', () => {
  const asked = [
    ...['GET /buckets/b/keys?keys=true', 'GET /types/t/buckets?buckets=true', 'POST /backup/cut'],
    ...['POST /types', 'PUT /types/t/props', 'GET /types/t/buckets/b/props', 'POST /upgrade/finalize'],
  ];
  for (const start of asked) {
    const request = `${start} HTTP/1.1\r\nHost: n1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
    expect(endOf(request, answer(503, 'Timeout', closing))).toBe('eof 1, broken 0, {"Timeout":1}');
  }
});

it('a refusal of the listener breaks the connection, unless the listener goes on', () => {
  const refused = answer(400, 'BadRequest', closing);
  expect(endOf('GET\r\n\r\n', refused)).toBe('eof 0, broken 1, {"BadRequest":1}');
  expect(endOf('GET\r\n\r\n', refused, true)).toBe('eof 0, broken 1, {"BadRequest":1}');
  expect(endOf(properties, answer(408, 'Timeout', closing))).toBe('eof 0, broken 1, {"TooSlow":1}');
  expect(endOf(properties, answer(503, 'Overloaded'))).toBe('eof 1, broken 0, {"Overloaded":1}');
});

it('an object’s error answer breaks no connection, also when its client asked for the end', () => {
  const put =
    'PUT /buckets/b/keys/k HTTP/1.1\r\nHost: n1\r\nConnection: close\r\nIf-None-Match: *\r\nContent-Length: 2\r\n\r\nvv';
  expect(endOf(put, answer(412, 'ModifiedSince', closing))).toBe('eof 1, broken 0, {"ModifiedSince":1}');
});

it('a listing over HTTP that finds too few replicas fails as a read, a change of properties as a write', () => {
  const failures = (request: string): string => {
    const observer = new ClientObserver(1024);
    observer.opened(1, true);
    observer.heard(1, Buffer.from(request));
    observer.wrote(1, Buffer.from(answer(503, 'NoQuorum', closing)));
    const { getErrors, writeErrors } = observer.truth;
    return `reads ${JSON.stringify(getErrors)}, writes ${JSON.stringify(writeErrors)}`;
  };
  const listing = 'GET /buckets/b/keys?keys=true HTTP/1.1\r\nHost: n1\r\nConnection: close\r\n\r\n';
  expect(failures(listing)).toBe('reads {"NoQuorum":1}, writes {}');
  expect(failures(`${properties}{}`)).toBe('reads {}, writes {"NoQuorum":1}');
});

it('notes how long the node takes for each request that states a time, over both protocols', () => {
  const records: AnswerTime[] = [];
  const clock = { ranUs: 0, lateUs: 0, atUs: 0 };
  const observer = new ClientObserver(1024, new AnswerTimes('n1', () => ({ ...clock }), records));
  observer.opened(1, true);
  observer.heard(1, Buffer.from('GET /buckets/b/keys/k?timeout=50 HTTP/1.1\r\nHost: n1\r\n\r\n'));
  const names = { bucket: Buffer.from('b'), key: Buffer.from('k') };
  const operations = [{ ...names, delete: true }];
  const transaction = { operations, timeout: 70, id: Buffer.from('c') };
  observer.opened(2, false);
  observer.heard(2, messages.getReq.encode({ ...names, timeout: 60 }));
  observer.heard(2, messages.transactionReq.encode(transaction));
  clock.ranUs = 40;
  observer.wrote(1, Buffer.from('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'));
  observer.wrote(2, messages.getResp.encode({}));
  observer.closed(2, 'ended');
  expect(
    records.map(({ what, allowedUs, tookUs, hasId, answered }) => [what, allowedUs, tookUs, hasId, answered]),
  ).toEqual([
    ['get over HTTP', 50_000, 40, false, true],
    ['get over the binary protocol', 60_000, 40, false, true],
    ['transaction over the binary protocol', 70_000, 0, true, false],
  ]);
});
