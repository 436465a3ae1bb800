/** Follows one run and says which cells of the tables it reached. It looks only: the run and its digest are the same. */
import type { Plan, PlanFault } from '../plan/plan.ts';
import type { History } from '../evidence/history.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';
import { MessageStates, messageTable } from './messages.ts';
import type { OperationsDone } from './operations.ts';
import { operationCells, operationTable } from './operations.ts';
import { rareBranchTable } from './tables.ts';
import { RequestFields, requestTable } from './request-fields.ts';
import { Recoveries, recoveryTable } from './recoveries.ts';
import { RingChanges, ringChangeCells, ringChangeTable } from './ring-changes.ts';
import { settingCells, settingTable } from './settings.ts';
import { StepsInFlight, stepCells, stepTable } from './steps-in-flight.ts';
import type { Cell, CoverageTable } from './table.ts';
import { idOf } from './table.ts';

/** An operation that has waited longer has lost its answer. */
const openUsMax = 2_000_000;

/** Collects the cells of one run. */
export class CoverageObserver {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #recorder: { readonly history: History };
  readonly #steps: StepsInFlight;
  readonly #ringChanges: RingChanges;
  readonly #messages: MessageStates;
  readonly #recoveries: Recoveries;
  readonly #requests: RequestFields;
  readonly #struckCells: string[] = [];

  constructor(world: World, cluster: Cluster, recorder: { readonly history: History }) {
    this.#world = world;
    this.#cluster = cluster;
    this.#recorder = recorder;
    this.#steps = new StepsInFlight(world);
    this.#ringChanges = new RingChanges(world);
    this.#messages = new MessageStates(world);
    this.#recoveries = new Recoveries(world, cluster);
    this.#requests = new RequestFields(world);
  }

  /** The fault has just struck. */
  struck({ kind, targets }: PlanFault): void {
    const nodes = targets.filter((name) => this.#cluster.names.includes(name));
    const hosts = nodes.length > 0 ? nodes : this.#cluster.names;
    const atHosts = this.#steps.at(hosts);
    const inFlight = this.#operationAt(hosts)
      ? [...atHosts.filter((step) => step !== 'nothing'), 'object operation']
      : atHosts;
    this.#struckCells.push(
      ...idsOf(stepTable, stepCells(kind, inFlight)),
      ...idsOf(ringChangeTable, ringChangeCells(kind, this.#ringChanges.now)),
    );
  }

  /** The ids of all cells that the run reached, sorted. */
  reached(plan: Plan, done: OperationsDone): readonly string[] {
    const ids = new Set([
      ...this.#struckCells,
      ...idsOf(operationTable, operationCells(plan, done)),
      ...idsOf(settingTable, settingCells(plan)),
      ...idsOf(messageTable, this.#messages.cells),
      ...idsOf(recoveryTable, this.#recoveries.cells),
      ...idsOf(requestTable, this.#requests.cells(plan)),
      ...idsOf(
        rareBranchTable,
        [...this.#world.rareBranches].map((name) => [name]),
      ),
    ]);
    return [...ids].sort();
  }

  /** Whether a client waits for one of these nodes. The newest operations come last. */
  #operationAt(hosts: readonly string[]): boolean {
    const { history } = this.#recorder;
    const sinceUs = this.#world.nowUs - openUsMax;
    for (let index = history.length - 1; index >= 0; index--) {
      const operation = history[index];
      if (operation === undefined || operation.invokedUs < sinceUs) return false;
      if (operation.completedUs === undefined && hosts.includes(operation.node)) return true;
    }
    return false;
  }
}

function idsOf(table: CoverageTable, cells: readonly Cell[]): readonly string[] {
  return cells.map((cell) => idOf(table, cell));
}
