/**
 * A job's phases as a chain of streams: each takes packets of the one before and gives packets on. Whoever reads the
 * last one sets the pace: nothing is asked of the cluster that is not wanted yet, but for the batches that a map phase
 * keeps under way.
 *
 * Order: a list's inputs as they are written, a bucket's by token; a map or link phase gives what it made of its inputs
 * in their order; so, over the same objects, a job gives the same answer on every node and every time.
 */
import { LockstepError } from '../base/errors.ts';
import { textOf } from '../base/ids.ts';
import { defaultType } from '../base/object-key.ts';
import { builtinReduces } from './builtin-reduces.ts';
import { isNotFound } from './found-object.ts';
import type { FunctionPhase, Input, Inputs, Job, Json, LinkPhase } from './job.ts';
import type { JobContext } from './job-context.ts';
import { MapStage } from './map-stage.ts';
import { inputOf } from './parse-inputs.ts';
import type { Task, Work } from './peer-messages.ts';
import { PhaseError } from './phase-error.ts';
import { sizeOf } from './phase-worker.ts';
import { ReduceStage } from './reduce-stage.ts';

/** Results of a phase that belong to the answer. */
export interface Batch {
  /** From 0. */
  readonly phase: number;
  readonly values: readonly Json[];
}

type Packet =
  | { readonly kind: 'inputs'; readonly inputs: readonly Input[] }
  | { readonly kind: 'values'; readonly values: readonly Json[]; readonly bytes: number }
  /** Results of the next phase's function. */
  | { readonly kind: 'reduced'; readonly values: readonly Json[] }
  | { readonly kind: 'kept'; readonly batch: Batch };

type Packets = AsyncGenerator<Packet, void, undefined>;

/** Inputs in a batch of a map phase, and the batches of one phase under way. */
const batchInputs = 256;
const batchesAbreast = 4;

/** The answer, batch by batch; none is empty. */
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

/** `reads`: the first phase looks at the objects, so deleted ones need not be told apart before. */
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

/** Lists of any length as lists of one length, but for the last. */
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
  { phases, inputs }: Job,
  phase: FunctionPhase | LinkPhase,
  index: number,
  context: JobContext,
): Packets {
  const next = phases[index + 1];
  const reduce = phase.keep ? undefined : reduceOf(next);
  const silent = index === 0 && inputs.kind === 'bucket';
  const stage = new MapStage(context, index, taskOf(phase, context), reduce, silent);
  const last = next === undefined;
  const underWay: Promise<readonly Packet[]>[] = [];
  const start = (inputs: readonly Input[]): void => {
    const run = stage.run(inputs).then(({ values, bytes, reduced }): readonly Packet[] => {
      if (reduced) return [{ kind: 'reduced', values }];
      return resultPackets(values, bytes, index, phase.keep, last);
    });
    // A failure is heard of in its turn, or by nobody when the job has ended before.
    run.catch(() => undefined);
    underWay.push(run);
  };
  try {
    for await (const packet of before) {
      for (const batch of batchesOf(packet, index)) {
        start(batch);
        while (underWay.length >= batchesAbreast) yield* await shift(underWay);
      }
      if (packet.kind === 'kept') underWay.push(Promise.resolve([packet]));
    }
    while (underWay.length > 0) yield* await shift(underWay);
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

/** `last`: nobody takes the values further. */
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

/** What a phase gave as inputs of a map or link phase. */
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

/** Inputs as values: for a reduce phase that comes first, and a job without phases. */
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

async function shift(underWay: Promise<readonly Packet[]>[]): Promise<readonly Packet[]> {
  return (await underWay.shift()) ?? [];
}

function taskOf(phase: FunctionPhase | LinkPhase, { modules }: JobContext): Task {
  if (phase.kind === 'link') return { kind: 'link', bucket: phase.bucket, tag: phase.tag };
  const { run, arg } = phase;
  if (run.kind === 'builtin') return { kind: 'builtin', name: run.name, arg };
  const version = modules.get(run.module)?.version ?? '';
  return { kind: 'wasm', module: run.module, version, arg };
}

/** The function that replicas may reduce with before they answer. */
function reduceOf(next: Job['phases'][number] | undefined): Work['reduce'] {
  if (next?.kind !== 'reduce' || next.run.kind !== 'builtin') return undefined;
  const { name } = next.run;
  return builtinReduces.get(name)?.anyOrder === true ? { name, arg: next.arg } : undefined;
}
