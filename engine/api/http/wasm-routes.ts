/**
 * The endpoints of Wasm modules: `PUT /wasm/modules/{id}` registers one from its body (.wasm, or .wat text). `GET`
 * lists them or shows one, with `Accept: application/wasm` its bytes. `DELETE` deletes one. Errors are problems of RFC
 * 9457.
 */
import { LockstepError, asLockstepError } from '../../base/errors.ts';
import type { Io } from '../../io/io.ts';
import type { HttpMethod, HttpRequest, HttpResponse, HttpRoute } from '../../io/http.ts';
import { percentDecode } from './percent.ts';
import { jsonAnswer, problemAnswer } from './problems.ts';

/** A registered module as the endpoints show it. */
export interface ModuleRow {
  readonly id: string;
  readonly version: number;
  /** SHA-256 of the bytes, in hex. */
  readonly digest: string;
  readonly bytes: number;
  readonly roles: readonly string[];
  readonly disputed: boolean;
}

/** The nodes that already hold a change, and those that will receive it later. */
export interface ModuleReport {
  readonly held: readonly string[];
  readonly pending: readonly string[];
}

/** The module store as the endpoints use it. Rejects with `LockstepError`s. */
export interface ModuleAdmin {
  register(
    id: string,
    body: Uint8Array,
  ): Promise<
    ModuleReport & { readonly view: ModuleRow; readonly outcome: 'created' | 'replaced' | 'unchanged' }
  >;
  remove(id: string): Promise<ModuleReport>;
  list(): readonly ModuleRow[];
  get(id: string): ModuleRow | undefined;
  bytesOf(id: string): Uint8Array | undefined;
}

type Handler = (admin: ModuleAdmin, request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

const wasmType = 'application/wasm';

/** The routes. `admin` is undefined if Wasm is off: every route then answers `WasmNotImplemented`. */
export function wasmRoutes(log: Io['log'], admin: ModuleAdmin | undefined): readonly HttpRoute[] {
  const route = (method: HttpMethod, path: string, handler: Handler): HttpRoute => {
    return { method, path, handle: (request) => serve(log, admin, request, handler) };
  };
  return [
    route('GET', '/wasm/modules', listModules),
    route('GET', '/wasm/modules/:id', showModule),
    route('PUT', '/wasm/modules/:id', putModule),
    route('DELETE', '/wasm/modules/:id', deleteModule),
  ];
}

async function serve(
  log: Io['log'],
  admin: ModuleAdmin | undefined,
  request: HttpRequest,
  handler: Handler,
): Promise<HttpResponse> {
  try {
    if (admin === undefined) throw new LockstepError('WasmNotImplemented');
    return await handler(admin, request);
  } catch (caught) {
    const error = asLockstepError(caught);
    if (error.code === 'Internal') log.event('error', 'api.http.failed', { detail: error.message });
    return problemAnswer(error);
  }
}

function listModules(admin: ModuleAdmin): HttpResponse {
  return jsonAnswer(200, { modules: admin.list() });
}

function showModule(admin: ModuleAdmin, request: HttpRequest): HttpResponse {
  const id = idOf(request);
  const view = admin.get(id);
  const bytes = admin.bytesOf(id);
  if (view === undefined || bytes === undefined) {
    throw new LockstepError('NotFound', `no module ${id} is registered`);
  }
  const headers = { 'Content-Type': wasmType, ETag: `"${view.digest}"`, Vary: 'Accept' };
  if (request.headers['accept']?.includes(wasmType) === true) return { status: 200, headers, body: bytes };
  const description = jsonAnswer(200, view);
  return { ...description, headers: { ...description.headers, Vary: 'Accept' } };
}

async function putModule(admin: ModuleAdmin, request: HttpRequest): Promise<HttpResponse> {
  const { view, outcome, held, pending } = await admin.register(idOf(request), request.body);
  return jsonAnswer(outcome === 'created' ? 201 : 200, { ...view, outcome, nodes: { held, pending } });
}

async function deleteModule(admin: ModuleAdmin, request: HttpRequest): Promise<HttpResponse> {
  const id = idOf(request);
  const { held, pending } = await admin.remove(id);
  return jsonAnswer(200, { id, outcome: 'deleted', nodes: { held, pending } });
}

function idOf(request: HttpRequest): string {
  return Buffer.from(percentDecode(request.params['id'] ?? '', 'the module id'), 'latin1').toString('utf8');
}
