/**
 * The operator's endpoints of backups: `POST /backup/hold`, `/backup/cut`, `/backup/release` and `/backup/end`,
 * `GET /backup/{id}/segments/{number}`, and `POST /backup/restore`, which takes objects as a backup holds them. The
 * protocol is in `engine/backup/README.md`. Errors are problems of RFC 9457.
 */
import { asLockstepError, LockstepError } from '../../base/errors.ts';
import { parseFlat } from '../../base/json-text.ts';
import type { LentBytes } from '../../base/lent-bytes.ts';
import type { HttpRequest, HttpResponse, HttpRoute } from '../../io/http.ts';
import { jsonAnswer, problemAnswer } from './problems.ts';

/** The backups of one node as the endpoints use them; `node/` implements it. */
export interface BackupAdmin {
  hold(id: string, leaseMs: number): Promise<object>;
  cut(id: string): object;
  release(id: string): object;
  end(id: string): void;
  read(id: string, segment: number, from: number, bytes: number): Promise<LentBytes>;
  /**
   * Merges a batch of objects at all of their owners, or, with `overwrite`, replaces what they hold. Resolves with how
   * many, once each owner has them durably.
   */
  restore(batch: Uint8Array, overwrite: boolean): Promise<number>;
}

const idForm = /^[A-Za-z0-9-]{1,64}$/;

/** The routes of this module. */
export function backupRoutes(admin: BackupAdmin): readonly HttpRoute[] {
  return [
    post('/backup/hold', async ({ body }) => {
      const said = json(body);
      return jsonAnswer(200, await admin.hold(idIn(said), numberIn(said['lease_ms'], 'lease_ms')));
    }),
    post('/backup/cut', ({ body }) => jsonAnswer(200, admin.cut(idIn(json(body))))),
    post('/backup/release', ({ body }) => jsonAnswer(200, admin.release(idIn(json(body))))),
    post('/backup/end', ({ body }) => {
      admin.end(idIn(json(body)));
      return jsonAnswer(200, {});
    }),
    post('/backup/restore', async ({ body, query }) =>
      jsonAnswer(200, { merged: await admin.restore(body, query.get('overwrite') === 'true') }),
    ),
    {
      method: 'GET',
      path: '/backup/:id/segments/:number',
      handle: (request) => answered(() => readSegment(admin, request)),
    },
  ];
}

async function readSegment(admin: BackupAdmin, { params, query }: HttpRequest): Promise<HttpResponse> {
  const id = idIn(params);
  const number = numberIn(params['number'], 'the segment');
  const from = numberIn(query.get('from'), 'from');
  const { bytes, release } = await admin.read(id, number, from, numberIn(query.get('bytes'), 'bytes'));
  return {
    status: 200,
    headers: { 'Content-Type': 'application/octet-stream', 'Cache-Control': 'no-store' },
    body: bytes,
    taken: release,
  };
}

function post(
  path: string,
  handle: (request: HttpRequest) => HttpResponse | Promise<HttpResponse>,
): HttpRoute {
  return { method: 'POST', path, handle: (request) => answered(() => handle(request)) };
}

async function answered(handle: () => HttpResponse | Promise<HttpResponse>): Promise<HttpResponse> {
  try {
    return await handle();
  } catch (error) {
    return problemAnswer(asLockstepError(error));
  }
}

function json(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const said: unknown = parseFlat(Buffer.from(body).toString('utf8'));
    if (typeof said === 'object' && said !== null) return said as Readonly<Record<string, unknown>>;
  } catch {
    // Refused below, as any other body that is not an object.
  }
  throw new LockstepError('BadRequest', 'the body is a JSON object with the id of the backup');
}

function idIn({ id }: Readonly<Record<string, unknown>>): string {
  if (typeof id === 'string' && idForm.test(id)) return id;
  throw new LockstepError('BadRequest', 'id has 1 to 64 letters, digits and hyphens');
}

function numberIn(given: unknown, what: string): number {
  const number = typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : given;
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number;
  throw new LockstepError('BadRequest', `${what} is a whole number`);
}
