/**
 * Connects a job's phases as a chain of streams: each takes packets of the preceding one and emits packets. The reader
 * of the last stream sets the pace. The cluster is asked for nothing that is not wanted yet, except the batches that a
 * map phase keeps under way.
 *
 * Order: a list's inputs in the client's order, a bucket's by token. A map or link phase emits results in the order of
 * its inputs. Over the same objects a job therefore gives the same answer on every node and every time.
 */
import { LockstepError } from '../base/errors.ts';
import { textOf } from '../base/ids.ts';
import { defaultType } from '../base/object-key.ts';
import { builtinReduces } from './builtin-reduces.ts';
import { isNotFound } from './found-object.ts';
import type { FunctionPhase, Input, Inputs, Job, Json, LinkPhase } from './job.ts';
import type { JobContext } from './job-context.ts';
import type { Mapped } from './map-stage.ts';
import { MapStage } from './map-stage.ts';
import { inputOf } from './parse-inputs.ts';
import type { Task, Work } from './peer-messages.ts';
import { PhaseError } from './phase-error.ts';
import { sizeOf } from './phase-worker.ts';
import { ReduceStage } from './reduce-stage.ts';

/** Results of one phase that belong to the answer. */
export interface Batch {
  /** Index of the phase, from 0. */
  readonly phase: number;
  readonly values: readonly Json[];
}

type Packet =
  | { readonly kind: 'inputs'; readonly inputs: readonly Input[] }
  | { readonly kind: 'values'; readonly values: readonly Json[]; readonly bytes: number }
  /** Results of the next phase's reduce function. */
  | { readonly kind: 'reduced'; readonly values: readonly Json[] }
  | { readonly kind: 'kept'; readonly batch: Batch };

type Packets = AsyncGenerator<Packet, void, undefined>;

/** A batch of a map phase: its first results, and the next ones, one after the other. */
interface BatchUnderWay {
  readonly first: Promise<Mapped>;
  readonly next: () => Promise<Mapped>;
}

/** A batch, or a packet that waits behind one. */
type UnderWay = BatchUnderWay | Extract<Packet, { kind: 'kept' }>;

/** Inputs in a batch of a map phase, and batches of one phase under way. */
const batchInputs = 256;
const batchesAbreast = 4;

/** The answer, batch by batch; no batch is empty. */
export async function* runPipeline(job: Job, context: JobContext): AsyncGenerator<Batch, void, undefined> {
  let packets: Packets = source(job, context);
  job.phases.forEach((phase, index) => {
    if (phase.kind === 'reduce') packets = reducePhase(packets, phase, index, context);
    else packets = mapPhase(packets, job, phase, index, context);
  });
  for await (const packet of packets) {
    if (packet.kind === 'kept') yield packet.batch;
    else if (job.phases.length === 0) yield { phase: 0, values: valuesOf(packet) };
  }
}

async function* source({ inputs, phases }: Job, context: JobContext): Packets {
  const reads = phases[0] !== undefined && phases[0].kind !== 'reduce';
  for await (const batch of cut(inputsOf(inputs, context, reads))) {
    context.counts.inputs += batch.length;
    yield { kind: 'inputs', inputs: batch };
  }
}

/** `reads`: the first phase reads the objects, so the listing need not leave out deleted ones. */
async function* inputsOf(
  inputs: Inputs,
  { parts, deadlineUs }: JobContext,
  reads: boolean,
): AsyncGenerator<readonly Input[], void, undefined> {
  if (inputs.kind === 'list') {
    yield inputs.items;
    return;
  }
  const { type, bucket, filter } = inputs;
  for await (const { names } of parts.coverage.keys(type, bucket, { live: !reads }, deadlineUs)) {
    const wanted = filter === undefined ? names : names.filter(({ name }) => filter(textOf(name)));
    yield wanted.map(({ name }) => ({ type, bucket, key: name, keydata: undefined }));
  }
}

/** Regroups lists of any length into lists of `batchInputs` items; the last may be shorter. */
async function* cut<T>(lists: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[], void, undefined> {
  let waiting: readonly T[] = [];
  for await (const list of lists) {
    waiting = waiting.length === 0 ? list : [...waiting, ...list];
    for (; waiting.length >= batchInputs; waiting = waiting.slice(batchInputs))
      yield waiting.slice(0, batchInputs);
  }
  if (waiting.length > 0) yield waiting;
}

async function* mapPhase(
  before: Packets,
  { phases, inputs, refusalOf }: Job,
  phase: FunctionPhase | LinkPhase,
  index: number,
  context: JobContext,
): Packets {
  const next = phases[index + 1];
  const reduce = phase.keep ? undefined : reduceOf(next);
  const silent = index === 0 && inputs.kind === 'bucket';
  const stage = new MapStage(context, index, taskOf(phase, context), reduce, silent);
  const last = next === undefined;
  const underWay: UnderWay[] = [];
  const start = (inputs: readonly Input[]): void => {
    for (const input of refusalOf === undefined ? [] : inputs) {
      const refusal = refusalOf?.(input);
      if (refusal !== undefined) throw new PhaseError('Forbidden', index, refusal.message);
    }
    const run = stage.begin(inputs);
    const next = (): Promise<Mapped> => stage.next(run);
    const first = next();
    // Its turn in `underWay` reports a failure; after an early end of the job no stage does.
    first.catch(() => undefined);
    underWay.push({ first, next });
  };
  const shift = async function* (): Packets {
    const oldest = underWay.shift();
    if (oldest === undefined) return;
    if ('kind' in oldest) yield oldest;
    else
      for await (const { values, bytes, reduced } of partsOf(oldest)) {
        if (reduced) yield { kind: 'reduced', values };
        else yield* resultPackets(values, bytes, index, phase.keep, last);
      }
  };
  try {
    for await (const packet of before) {
      for (const batch of batchesOf(packet, index)) {
        start(batch);
        while (underWay.length >= batchesAbreast) yield* shift();
      }
      if (packet.kind === 'kept') underWay.push(packet);
    }
    while (underWay.length > 0) yield* shift();
  } finally {
    await before.return();
  }
}

async function* reducePhase(
  before: Packets,
  phase: FunctionPhase,
  index: number,
  context: JobContext,
): Packets {
  const stage = new ReduceStage(context, index, phase);
  for await (const packet of before) {
    if (packet.kind === 'kept') yield packet;
    else if (packet.kind === 'reduced') await stage.takeReduced(packet.values);
    else if (packet.kind === 'values') await stage.take(packet.values, packet.bytes);
    else {
      const values = valuesOf(packet);
      await stage.take(values, sizeOf(values));
    }
  }
  const values = await stage.close();
  yield* resultPackets(values, sizeOf(values), index, phase.keep, false);
}

/** `last`: no further phase takes the values. */
function resultPackets(
  values: readonly Json[],
  bytes: number,
  index: number,
  keep: boolean,
  last: boolean,
): readonly Packet[] {
  if (values.length === 0) return [];
  const packets: Packet[] = [];
  if (keep) packets.push({ kind: 'kept', batch: { phase: index, values } });
  if (!last) packets.push({ kind: 'values', values, bytes });
  return packets;
}

/** A packet as batches of inputs for a map or link phase. */
function batchesOf(packet: Packet, index: number): readonly (readonly Input[])[] {
  if (packet.kind === 'inputs') return [packet.inputs];
  if (packet.kind !== 'values') return [];
  const named = packet.values.filter((value) => !isNotFound(value)).map((value) => namedInput(value, index));
  const batches: (readonly Input[])[] = [];
  for (let at = 0; at < named.length; at += batchInputs) batches.push(named.slice(at, at + batchInputs));
  return batches;
}

function namedInput(value: Json, index: number): Input {
  try {
    return inputOf(value, 'an input');
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    throw new PhaseError('PhaseFailed', index, error.message, value);
  }
}

/** A packet as values: for a leading reduce phase, and for a job without phases. */
function valuesOf(packet: Packet): readonly Json[] {
  if (packet.kind === 'kept') return packet.batch.values;
  if (packet.kind !== 'inputs') return packet.values;
  return packet.inputs.map(({ type, bucket, key, keydata }) => {
    const name: Json[] = [textOf(bucket), textOf(key)];
    if (keydata !== undefined || type !== defaultType) name.push(keydata ?? null);
    if (type !== defaultType) name.push(textOf(type));
    return name;
  });
}

async function* partsOf({ first, next }: BatchUnderWay): AsyncGenerator<Mapped, void, undefined> {
  for (let part = await first; ; part = await next()) {
    yield part;
    if (part.isLast) return;
  }
}

function taskOf(phase: FunctionPhase | LinkPhase, { modules }: JobContext): Task {
  if (phase.kind === 'link') return { kind: 'link', bucket: phase.bucket, tag: phase.tag };
  const { run, arg } = phase;
  if (run.kind === 'builtin') return { kind: 'builtin', name: run.name, arg };
  const version = modules.get(run.module)?.version ?? '';
  return { kind: 'wasm', module: run.module, version, arg };
}

/** The function that replicas may apply before they answer; undefined if there is none. */
function reduceOf(next: Job['phases'][number] | undefined): Work['reduce'] {
  if (next?.kind !== 'reduce' || next.run.kind !== 'builtin') return undefined;
  const { name } = next.run;
  return builtinReduces.get(name)?.anyOrder === true ? { name, arg: next.arg } : undefined;
}
