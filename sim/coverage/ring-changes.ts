/** The table of faults that struck while a member's ring change was at a step, and the follower of ring changes. */
import type { FaultKind } from '../faults/fault-table.ts';
import { faultKindNames, faultKinds } from '../faults/fault-table.ts';
import type { World } from '../world/world.ts';
import type { Cell, CoverageTable } from './table.ts';
import { allCells } from './table.ts';

/** `joined`: a joining or replacing member owns its tokens, and the former owners have yet to hand over. */
const ringSteps = [
  'join queued',
  'join copying',
  'joined',
  'leave queued',
  'leave copying',
  'leave switching',
  'left',
];

const clientKinds = faultKindNames.filter((kind) => faultKinds[kind].countedByClients === true);

/** The table. */
export const ringChangeTable: CoverageTable = {
  name: 'ring-changes',
  title: 'steps of ring changes by the faults that struck during them',
  axes: ['step', 'fault'],
  cells: allCells(ringSteps, faultKindNames),
  excuses: [
    { where: ['*', clientKinds], reason: 'it strikes a client and no node' },
    {
      where: [['left'], ['removed-node-restart']],
      reason: 'the node must have gone before it can come back',
    },
  ],
};

/** Follows the ring changes of one run. */
export class RingChanges {
  readonly #steps = new Map<string, string>();

  constructor(world: World) {
    const { trace } = world;
    trace.on('membership.move.declared', ({ host, fields }) => {
      const step = stepOf(String(fields['state']), String(fields['move']));
      if (step === undefined) this.#steps.delete(host);
      else this.#steps.set(host, step);
    });
    trace.on('membership.started', ({ host, fields }) => {
      if (fields['state'] === 'JOINING' && !this.#steps.has(host)) this.#steps.set(host, 'join queued');
    });
    trace.on('membership.left', ({ host }) => void this.#steps.set(host, 'left'));
    trace.on('membership.departed', ({ host }) => void this.#steps.delete(host));
  }

  /** The steps at which ring changes are now. */
  get now(): readonly string[] {
    return [...new Set(this.#steps.values())];
  }
}

function stepOf(state: string, move: string): string | undefined {
  if (state === 'JOINING' && (move === 'queued' || move === 'copying')) return `join ${move}`;
  if (state === 'NORMAL' && move === 'switching') return 'joined';
  return state === 'LEAVING' && move !== 'none' ? `leave ${move}` : undefined;
}

/** The cells of a fault of this kind that struck while ring changes were at these steps. */
export function ringChangeCells(kind: FaultKind, steps: readonly string[]): readonly Cell[] {
  return steps.map((step) => [step, kind]);
}
