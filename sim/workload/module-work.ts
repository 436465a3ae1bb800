/**
 * Acts out the faults of Wasm modules and records what came of them. Clients ask for keys at which the routing module fails,
 * and for jobs of which a phase fails. An operator swaps a module, and compares the modules of all nodes after the
 * calm. Nodes' own trace events tell of every call.
 */
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import type {
  CallRecord,
  HeldRecord,
  JobRecord,
  ProvokedRecord,
  WasmEvidence,
} from '../check/mapreduce/wasm-purity.ts';
import type { ClientRequest } from '../../engine/api/pbc/client-codec.ts';
import type { RpbPutReq } from '../../engine/api/pbc/object-messages.ts';
import type { ModuleActs, ModuleFailure } from '../faults/fault-context.ts';
import type { Fault } from '../faults/fault.ts';
import { targetOf } from '../faults/fault.ts';
import { PbConnection } from './pb-connection.ts';
import { marksBytes, marksId, waywardId } from './work-modules.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import { routedType } from '../world/cluster/node-config.ts';
import type { HttpClient, World } from '../world/world.ts';

const timeoutUs = 2_000_000;
const retryUs = 200_000;

/**
 * How long after the start of a swap jobs begin, in microseconds: during it, and when some nodes have learned of it.
 */
const jobDelaysUs = [0, 200, 1_000, 3_000, 20_000];
const jobKeys = 40;
const job = {
  request: Buffer.from(
    JSON.stringify({
      inputs: Array.from({ length: jobKeys }, (_, key) => ['newest', `k${key}`]),
      query: [{ map: { language: 'wasm', module: marksId } }],
    }),
  ),
  content_type: Buffer.from('application/json'),
};

/** The clients and the operator that deal with Wasm modules in one run. */
export class ModuleWork implements ModuleActs {
  readonly #calls: CallRecord[] = [];
  readonly #provoked: ProvokedRecord[] = [];
  readonly #held: HeldRecord[] = [];
  readonly #jobs: JobRecord[] = [];
  readonly #world: World;
  readonly #cluster: Cluster;
  /** The clients' credentials, if nodes demand any. */
  readonly #token: string | undefined;
  #operator: { readonly io: Io; readonly http: HttpClient } | undefined;
  #busy = 0;

  constructor(world: World, cluster: Cluster, token?: string) {
    this.#token = token;
    this.#world = world;
    this.#cluster = cluster;
    for (const name of ['wasm.called', 'wasm.call.failed']) {
      world.trace.on(name, ({ host, atUs, fields }) => {
        const { digest, role, input, result, failure, fuel } = fields;
        const outcome = `${String(failure ?? result)} for ${String(fuel)} units`;
        this.#calls.push({
          node: host,
          atUs,
          call: `${String(digest).slice(0, 12)} ${String(role)} ${String(input)}`,
          outcome,
        });
      });
    }
  }

  get idle(): boolean {
    return this.#busy === 0;
  }

  /** What was called, asked and held so far, for the check. */
  get records(): WasmEvidence['modules'] {
    return { calls: this.#calls, provoked: this.#provoked, held: this.#held, jobs: this.#jobs };
  }

  /** Asks all members which modules they hold, until all agree or `stopped` returns true. */
  readBack(stopped: () => boolean): void {
    this.#spawn('modules read back', async ({ io, http }) => {
      let held: readonly HeldRecord[];
      do {
        await sleep(io.clock, retryUs);
        held = await Promise.all(this.#cluster.members.map((node) => this.#look(node, http)));
      } while (!stopped() && new Set(held.map(({ modules }) => modules)).size > 1);
      this.#held.push(...held);
    });
  }

  async #look(node: string, http: HttpClient): Promise<HeldRecord> {
    const atUs = this.#world.nowUs;
    try {
      const request = { method: 'GET', path: '/wasm/modules' } as const;
      const { body } = await http.request(this.#cluster.address(node, 'http'), request, timeoutUs);
      return { node, atUs, modules: body.toString('utf8') };
    } catch {
      // The node is down or too slow: it has not answered.
      return { node, atUs, modules: undefined };
    }
  }

  /** Swaps a module at the node while jobs use it. Returns false if the node does not serve, or has no modules. */
  swap(node: string, version: number): boolean {
    if (!this.#serves(node)) return false;
    for (const delayUs of jobDelaysUs) this.#runJob(node, delayUs);
    this.#spawn(`swap ${marksId}`, async ({ http }) => {
      const request = { method: 'PUT', path: `/wasm/modules/${marksId}`, body: marksBytes(version) } as const;
      try {
        await http.request(this.#cluster.address(node, 'http'), request, timeoutUs);
      } catch {
        // The read after the calm shows whether the swap happened.
      }
    });
    return true;
  }

  /** Runs a job whose every value passes through the module that is being swapped. */
  #runJob(node: string, delayUs: number): void {
    this.#spawn(`job ${marksId}`, async ({ io }) => {
      await sleep(io.clock, delayUs);
      const atUs = this.#world.nowUs;
      this.#jobs.push({ node, atUs, values: await this.#valuesOf(io, node) });
    });
  }

  /** The job's values; undefined if it failed or its answer was lost. */
  async #valuesOf(io: Io, node: string): Promise<readonly number[] | undefined> {
    const connection = await this.#connect(io, node);
    const values: number[] = [];
    const exchange = await connection?.ask({ kind: 'mapReduce', message: job }, timeoutUs, (reply) => {
      if (reply.kind !== 'mapReduced') return false;
      const { response, done } = reply.message;
      if (response !== undefined) values.push(...(JSON.parse(Buffer.from(response).toString()) as number[]));
      return done !== true;
    });
    connection?.close();
    return exchange?.kind === 'answered' && exchange.answer.kind === 'mapReduced' ? values : undefined;
  }

  /** Undefined if the node refuses or does not answer: the client has asked nothing. */
  async #connect(io: Io, node: string): Promise<PbConnection | undefined> {
    try {
      return await PbConnection.open(
        io,
        { address: this.#cluster.address(node, 'pb'), token: this.#token },
        timeoutUs,
      );
    } catch {
      // Its listener is closed, or it does not answer in time.
      return undefined;
    }
  }

  /**
   * Asks the fault's target for a key, or a phase, at which its module fails. Returns false if the target does not
   * serve, or has no modules.
   */
  provoke(fault: Fault, { letter, code }: ModuleFailure): boolean {
    const { params } = fault;
    const node = targetOf(fault);
    if (!this.#serves(node)) return false;
    const key = `${letter}${String(params['key'])}`;
    const what = String(params['what']);
    const inPhase = what === 'map' || what === 'reduce';
    this.#spawn(`ask ${key}`, async ({ io }) => {
      const atUs = this.#world.nowUs;
      const answered = await this.#ask(io, node, key, what);
      const asked = inPhase ? `a ${what} phase ${letter}` : key;
      this.#provoked.push({ node, atUs, asked, inPhase, expected: code, answered });
    });
    return true;
  }

  #serves(node: string): boolean {
    return this.#cluster.serves(node) && this.#cluster.configOf(node).bucketTypes.has(routedType);
  }

  async #ask(io: Io, node: string, key: string, what: string): Promise<string | undefined> {
    const connection = await this.#connect(io, node);
    if (connection === undefined) return undefined;
    const place = { type: Buffer.from(routedType), bucket: Buffer.from('newest'), key: Buffer.from(key) };
    const content = { value: Buffer.from('never to be stored'), content_type: Buffer.from('text/plain') };
    const exchange = await connection.ask(questionOf(what, key, { ...place, content }), timeoutUs);
    connection.close();
    if (exchange.kind === 'lost') return undefined;
    return exchange.answer.kind === 'failed' ? exchange.answer.code : exchange.answer.kind;
  }

  #spawn(
    name: string,
    task: (operator: { readonly io: Io; readonly http: HttpClient }) => Promise<void>,
  ): void {
    this.#operator ??= this.#boot();
    const operator = this.#operator;
    this.#busy += 1;
    operator.io.spawn(name, async () => {
      try {
        await task(operator);
      } finally {
        this.#busy -= 1;
      }
    });
  }

  #boot(): { readonly io: Io; readonly http: HttpClient } {
    const host = this.#world.addHost('modules');
    return { io: host.boot(), http: this.#world.httpClient(host, this.#token) };
  }
}

/**
 * A get or a put of the key, a job with the key among its inputs, or a job of which a phase gets the key's first
 * letter.
 */
function questionOf(
  what: string,
  key: string,
  { content, ...place }: RpbPutReq & { readonly key: Uint8Array },
): ClientRequest {
  if (what === 'put') return { kind: 'put', message: { ...place, content } };
  if (what === 'get') return { kind: 'get', message: place };
  const request = Buffer.from(JSON.stringify(jobOf(what, key)));
  return { kind: 'mapReduce', message: { request, content_type: job.content_type } };
}

function jobOf(what: string, key: string): unknown {
  const identity = { language: 'erlang', module: 'riak_kv_mapreduce', function: 'map_identity' };
  if (what === 'job') {
    return {
      inputs: ['k0', key, 'k1'].map((one) => ['newest', one, null, routedType]),
      query: [{ map: identity }],
    };
  }
  const wayward = { language: 'wasm', module: waywardId, arg: key.slice(0, 1) };
  return {
    inputs: Array.from({ length: 4 }, (_, index) => ['newest', `k${index}`]),
    query: what === 'map' ? [{ map: wayward }] : [{ map: identity }, { reduce: wayward }],
  };
}
