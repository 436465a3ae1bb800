/**
 * The table of faults and what was under way at the node that they struck, and the follower of what is under way. A step
 * of a transaction is under way from its event until the next step of that transaction at that node, but at most for
 * `lastsUs`, because some transactions end without a step.
 */
import { branchSteps, coordinatorSteps } from '../../engine/transactions/formats/steps.ts';
import type { FaultKind } from '../faults/fault-table.ts';
import { faultKindNames, faultKinds } from '../faults/fault-table.ts';
import type { World } from '../world/world.ts';
import type { Cell, CoverageTable } from './table.ts';
import { allCells } from './table.ts';

const lastsUs = 2_000_000;

/** Work that has an event at its begin and at its end. */
const spans = {
  start: ['host.booted', 'node.started'],
  exchange: ['aae.exchange.started', 'aae.exchange.finished'],
  sweep: ['aae.sweep.began', 'aae.sweep.completed'],
  rebuild: ['transfer.rebuild.began', 'transfer.rebuild.done'],
  stop: ['node.stopping', 'node.stopped'],
} as const;

type Span = keyof typeof spans;
const spanNames = Object.keys(spans) as readonly Span[];

/** Steps after which nothing of the transaction is under way at the node. */
const lastSteps: readonly string[] = ['c.forget', 'p.ack.sent'];
const steps = [...coordinatorSteps, ...branchSteps].filter((step) => !lastSteps.includes(step));

/** Kinds that strike clients: they concern no node, or happen later than they are ordered. */
const clientKinds = faultKindNames.filter(
  (kind) => faultKinds[kind].countedByClients === true || kind === 'hot-key' || kind === 'sticky-clients',
);

/** The table. */
export const stepTable: CoverageTable = {
  name: 'steps',
  title: 'faults by what was under way at the node that they struck',
  axes: ['fault', 'step'],
  cells: allCells(faultKindNames, ['nothing', 'object operation', ...spanNames, ...steps]),
  excuses: [
    { where: [clientKinds, '*'], reason: 'it strikes a client and no node' },
    { where: ['*', ['p.recovery.scan']], reason: 'it is a moment of a start, which has a column' },
    {
      where: ['*', ['c.decision.beforeLog', 'c.decision.synced', 'c.indoubt.written', 'p.apply.partial']],
      reason: 'the next step follows within the same event; `enumerate xa` strikes between the two',
    },
    { where: ['*', ['c.tombstone.written']], reason: 'the transaction ends within the same event' },
    {
      where: [['double-start', 'wasm-module-swap', 'node-standby', 'graceful-restart'], ['stop']],
      reason: 'a node that stops takes no order',
    },
    {
      where: [['removed-node-restart'], '*'],
      reason: 'it strikes a node that has left, at which nothing is under way',
    },
  ],
};

/** Follows what is under way at each host. */
export class StepsInFlight {
  readonly #now: () => number;
  /** By host: steps by transaction and role, and spans by name, each with its begin. */
  readonly #steps = new Map<string, Map<string, { readonly step: string; readonly atUs: number }>>();

  constructor(world: World) {
    this.#now = () => world.nowUs;
    const { trace } = world;
    // A dead node's work was under way when the fault struck that killed it.
    trace.on('host.booted', ({ host }) => void this.#steps.delete(host));
    for (const step of [...coordinatorSteps, ...branchSteps]) {
      trace.on(`xa.${step}`, ({ host, atUs, fields }) => {
        const name = `${step.slice(0, 1)} ${String(fields['xid'])}`;
        if (lastSteps.includes(step)) this.#of(host).delete(name);
        else this.#of(host).set(name, { step, atUs });
      });
    }
    for (const span of spanNames) {
      const [begin, end] = spans[span];
      trace.on(begin, ({ host, atUs }) => void this.#of(host).set(span, { step: span, atUs }));
      trace.on(end, ({ host }) => void this.#of(host).delete(span));
    }
  }

  /** What is under way at one of these hosts; `nothing` if nothing is. */
  at(hosts: readonly string[]): readonly string[] {
    const sinceUs = this.#now() - lastsUs;
    const found = new Set<string>();
    for (const host of hosts) {
      for (const { step, atUs } of this.#steps.get(host)?.values() ?? [])
        if (atUs >= sinceUs) found.add(step);
    }
    return found.size === 0 ? ['nothing'] : [...found];
  }

  #of(host: string): Map<string, { readonly step: string; readonly atUs: number }> {
    const known = this.#steps.get(host);
    if (known !== undefined) return known;
    const steps = new Map<string, { readonly step: string; readonly atUs: number }>();
    this.#steps.set(host, steps);
    return steps;
  }
}

/** The cells of a fault of this kind that struck while `inFlight` was under way. */
export function stepCells(kind: FaultKind, inFlight: readonly string[]): readonly Cell[] {
  return inFlight.map((step) => [kind, step]);
}
