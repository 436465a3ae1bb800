/**
 * The table of request fields: each field of each request that the engine accepts, over every protocol. A cell is
 * reached by a request that a node has received whole. Requests of the clients who send malformed or unauthenticated
 * ones do not count. `requests/` holds the entries: which clients send a field, or why none does.
 */
import { FrameReader } from '../../engine/api/pbc/frames.ts';
import { messages } from '../../engine/api/pbc/schema.ts';
import { RequestReader } from '../../engine/api/redis/request-reader.ts';
import type { Plan } from '../plan/plan.ts';
import type { ClusterPort } from '../world/cluster/node-config.ts';
import { clusterPorts, fileOf } from '../world/cluster/node-config.ts';
import type { ConnectionEnd, ConnectionWatcher } from '../world/core/watchers.ts';
import { HttpReader } from '../world/http/http-text.ts';
import type { World } from '../world/world.ts';
import { optionsIn } from './requests/command-options.ts';
import { requestCells, requestExcuses } from './requests/entry.ts';
import { fieldsInHttp, fieldsInJob, propertyEntry, propertyField } from './requests/http-fields.ts';
import type { FoundField } from './requests/message-fields.ts';
import { fieldsInFrame } from './requests/message-fields.ts';
import { requestEntries } from './requests/request-entries.ts';
import type { Cell, CoverageTable } from './table.ts';

/** The table. */
export const requestTable: CoverageTable = {
  name: 'request-fields',
  title: 'fields of requests',
  axes: ['request', 'field'],
  cells: requestCells(requestEntries),
  excuses: requestExcuses(requestEntries),
};

/** Hosts whose requests no node may carry out. */
const strangers: readonly string[] = ['stranger', 'strangers'];

const bytesMax = 256 * 1024 * 1024;
const limits = { argumentCountMax: 1024 * 1024, argumentBytesMax: bytesMax, requestBytesMax: bytesMax };

/** Takes the bytes of one connection. */
type Reading = (bytes: Uint8Array) => void;

/** Follows the requests of one run. */
export class RequestFields {
  readonly #seen = new Map<string, Set<string>>();
  readonly #connections = new Map<number, Reading>();

  constructor(world: World) {
    world.network.watch(this.#watcher());
  }

  /** The cells that the run reached. */
  cells(plan: Pick<Plan, 'nodes' | 'settings'>): readonly Cell[] {
    configuredProperties(plan, (request, field) => this.#found(request, field));
    return requestTable.cells.filter(([request = '', field = '']) => this.#seen.get(request)?.has(field));
  }

  #watcher(): ConnectionWatcher {
    return {
      opened: () => undefined,
      wrote: () => undefined,
      heard: (end, bytes) => this.#heard(end, bytes),
      toldEnd: () => undefined,
      left: () => undefined,
      closed: ({ id, side }) => void (side === 'server' && this.#connections.delete(id)),
      connectFailed: () => undefined,
    };
  }

  #heard({ id, side, port, peer }: ConnectionEnd, bytes: Uint8Array): void {
    if (side !== 'server' || port === clusterPorts.peer || strangers.includes(peer)) return;
    let reading = this.#connections.get(id);
    if (reading === undefined) {
      reading = this.#readingOf(port);
      this.#connections.set(id, reading);
    }
    try {
      reading(bytes);
    } catch {
      // A node refuses malformed bytes; nothing behind them is a request.
      this.#connections.set(id, () => undefined);
    }
  }

  #readingOf(port: number): Reading {
    const found = (request: string, field: string): void => this.#found(request, field);
    switch (nameOfPort(port)) {
      case 'pb':
        return framesRead(found);
      case 'redis':
        return commandsRead(found);
      case 'http':
        return httpRead('http', found);
      case 'stats':
        return httpRead('stats', found);
      default:
        return () => undefined;
    }
  }

  #found(request: string, field: string): void {
    let fields = this.#seen.get(request);
    if (fields === undefined) {
      fields = new Set();
      this.#seen.set(request, fields);
    }
    fields.add(field);
  }
}

/** Bucket types of the configuration have properties, too. */
function configuredProperties(
  { nodes, settings }: Pick<Plan, 'nodes' | 'settings'>,
  found: FoundField,
): void {
  const [node] = nodes;
  if (node === undefined) return;
  const file = JSON.parse(fileOf(node, nodes, settings, () => '')) as {
    readonly lockstep: { readonly bucket_types: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
  };
  for (const properties of Object.values(file.lockstep.bucket_types)) {
    for (const [name, value] of Object.entries(properties)) found(propertyEntry, propertyField(name, value));
  }
}

function nameOfPort(port: number): ClusterPort | undefined {
  const names = Object.keys(clusterPorts) as readonly ClusterPort[];
  return names.find((name) => clusterPorts[name] === port);
}

function framesRead(found: FoundField): Reading {
  const reader = new FrameReader(bytesMax);
  return (bytes) => {
    reader.push(bytes);
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
      const { code, body } = frame;
      fieldsInFrame(code, body, found);
      if (code === messages.mapRedReq.code) fieldsInJob(messages.mapRedReq.decode(body).request, found);
    }
  };
}

function commandsRead(found: FoundField): Reading {
  const reader = new RequestReader(limits);
  return (bytes) => {
    reader.push(bytes);
    for (let request = reader.next(); request !== undefined; request = reader.next())
      optionsIn(request, found);
  };
}

function httpRead(listener: 'http' | 'stats', found: FoundField): Reading {
  const reader = new HttpReader(bytesMax);
  return (bytes) => {
    reader.push(bytes);
    for (let request = reader.next(); request !== undefined; request = reader.next())
      fieldsInHttp(listener, request, found);
  };
}
