/**
 * Judges a soak: the simulator's own checks over what the clients saw, every transaction all or nothing, the nodes'
 * counters beside the clients' counts, and memory and open files that do not grow.
 */
import { checkIsolation } from '../../check/transactions/isolation.ts';
import { checkDurability } from '../../check/objects/durability.ts';
import type { Operation } from '../../evidence/history.ts';
import type { TransactionHistory } from '../../evidence/transactions.ts';
import { appenderOf } from '../../evidence/transactions.ts';
import { median } from '../figures.ts';
import type { SoakLoad } from './soak-load.ts';
import type { ProcessSample, SoakNode } from './soak-nodes.ts';

/** What the clients did and saw. */
export interface SoakRecords {
  readonly operations: readonly (Operation | undefined)[];
  readonly transactions: TransactionHistory;
  readonly asked: SoakLoad['asked'];
}

/** What is judged of a node. */
export type JudgedNode = Pick<SoakNode, 'name' | 'lives' | 'isRenewed' | 'samples' | 'deaths' | 'counter'>;

/** One thing that was judged. */
export interface Judgement {
  readonly name: string;
  readonly ok: boolean;
  /** Comparisons made. */
  readonly checked: number;
  readonly reasons: readonly string[];
}

/** The most that memory may grow, beside a quarter of it: what buffers and caches take up as they fill. */
const growthMiBMax = 48;
const growthShareMax = 1.25;
const growthHandlesMax = 64;
/** Processes with fewer samples are too young to be judged. */
const samplesMin = 12;
const reasonsMax = 5;

/** All judgements, once the load has ended and the final reads are made. */
export async function judge(load: SoakRecords, nodes: readonly JudgedNode[]): Promise<readonly Judgement[]> {
  // First: the checks of the history stop this process for seconds, in which the nodes end its idle connections.
  const counted = await counters(load, nodes);
  const history = load.operations.filter((one) => one !== undefined);
  const durable = checkDurability(history);
  const isolated = checkIsolation(load.transactions, new Set());
  return [
    { name: durable.invariant, ok: durable.ok, checked: durable.checked, reasons: durable.reasons },
    { name: isolated.invariant, ok: isolated.ok, checked: isolated.checked, reasons: isolated.reasons },
    allOrNothing(load),
    counted,
    flat(nodes),
    deaths(nodes),
  ];
}

/** Of every transaction both appends are in the lists that were read last, or none; its outcome says which. */
function allOrNothing({ transactions }: SoakRecords): Judgement {
  const last = new Map<string, ReadonlySet<number>>();
  for (const { final, reads } of transactions)
    if (final) for (const { key, value } of reads) last.set(key, new Set(value?.list?.map(appenderOf)));
  const reasons: string[] = [];
  let checked = 0;
  for (const { final, id, outcome, writes, reason } of transactions) {
    if (final || writes.some(({ key }) => !last.has(key))) continue;
    checked += 1;
    const there = writes.filter(({ key }) => last.get(key)?.has(id) === true);
    const isTorn = there.length > 0 && there.length < writes.length;
    const isLost = outcome === 'ok' && there.length === 0;
    const isBack = outcome === 'fail' && there.length > 0;
    if (isTorn) reasons.push(`transaction ${id} (${outcome}) is torn: ${there.length} of ${writes.length}`);
    else if (isLost) reasons.push(`transaction ${id} was committed and is not there`);
    else if (isBack) reasons.push(`transaction ${id} was refused (${reason}) and is there`);
  }
  return judgement('all-or-nothing', checked, reasons);
}

/**
 * Each running process has counted what the clients asked it; answers that were lost may be counted or not. After a full
 * disk a node starts again within its process, and its counters with it: it has counted no more than that.
 */
async function counters({ asked }: SoakRecords, nodes: readonly JudgedNode[]): Promise<Judgement> {
  const reasons: string[] = [];
  let checked = 0;
  for (const node of nodes) {
    const own = asked.get(`${node.name} ${node.lives}`);
    if (own === undefined) continue;
    for (const [name, sent] of [
      ['svc_pool_client_read_requests_total', own.reads],
      ['svc_pool_client_write_requests_total', own.writes],
    ] as const) {
      const counted = await node.counter(name);
      const least = node.isRenewed ? 0 : sent - own.lost;
      checked += 1;
      if (counted === undefined || counted > sent || counted < least)
        reasons.push(`${node.name} counts ${counted} ${name}; ${sent} were sent, ${own.lost} answers lost`);
    }
  }
  return judgement('counters', checked, reasons);
}

/** The last third of each process's samples beside the second one: after the start, and long enough. */
function flat(nodes: readonly JudgedNode[]): Judgement {
  const reasons: string[] = [];
  let checked = 0;
  for (const { name, samples } of nodes) {
    if (samples.length < samplesMin) continue;
    checked += 1;
    const [before, after] = [middle(samples), lastThird(samples)];
    const memory = [before, after].map((some) => median(some.map(({ residentMiB }) => residentMiB)));
    const handles = [before, after].map((some) => median(some.map((one) => one.handles)));
    const [was = NaN, is = NaN] = memory;
    if (is > Math.max(was * growthShareMax, was + growthMiBMax))
      reasons.push(`${name}: memory grew from ${Math.round(was)} to ${Math.round(is)} MiB`);
    const [open = NaN, now = NaN] = handles;
    if (now > open + growthHandlesMax) reasons.push(`${name}: open files grew from ${open} to ${now}`);
  }
  return judgement('memory-and-handles', checked, reasons);
}

function middle(samples: readonly ProcessSample[]): readonly ProcessSample[] {
  const third = Math.floor(samples.length / 3);
  return samples.slice(third, 2 * third);
}

function lastThird(samples: readonly ProcessSample[]): readonly ProcessSample[] {
  return samples.slice(-Math.floor(samples.length / 3));
}

function deaths(nodes: readonly JudgedNode[]): Judgement {
  return judgement(
    'no-unexpected-end',
    nodes.length,
    nodes.flatMap((node) => node.deaths),
  );
}

/** A judgement that passes if there is no reason against it. */
export function judgement(name: string, checked: number, reasons: readonly string[]): Judgement {
  return { name, ok: reasons.length === 0, checked, reasons: reasons.slice(0, reasonsMax) };
}
