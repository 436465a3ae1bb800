/**
 * Compares the operations of single keys of two runs of one plan. Paced clients make them in one order in both
 * (`pacing.ts`), so what a read shows follows from the order alone where
 *
 * - no write of the key overlapped another operation on it, in either run;
 * - every write before was acknowledged by a majority, or certainly refused, in both;
 * - in a bucket without siblings, writes lay further apart than the nodes' clocks are wrong.
 *
 * There the values must be equal, faults or not. After anything else, they must be equal again from the first read on that
 * shows the same in both. Outcomes must be equal where no fault was near. The rest is left to the invariants.
 */
import type { History, Operation, ReadOperation, WriteOperation } from '../evidence/history.ts';
import { isRead } from '../evidence/history.ts';
import type { Plan } from '../plan/plan.ts';
import type { Comparer } from './difference.ts';
import type { Disturbances } from './disturbed.ts';
import { plannedOperations } from './pacing.ts';

/** The wall clocks of two nodes differ by at most this in a run without faults of clocks, in microseconds. */
const clockErrorUs = 450_000;

/** One run's history with its faults. */
export interface ObjectRun {
  readonly history: History;
  readonly disturbances: Disturbances;
}

interface Pair {
  readonly id: string;
  readonly world: Operation;
  readonly real: Operation;
}

/** Compares outcomes and values, then the final reads. */
export function compareObjects(plan: Plan, world: ObjectRun, real: ObjectRun, comparer: Comparer): void {
  const worlds = plannedOperations(plan, world.history);
  const reals = plannedOperations(plan, real.history);
  const byKey = new Map<string, Pair[]>();
  for (const [id, operation] of worlds) {
    const made = reals.get(id);
    if (made === undefined) {
      const isDisturbed = world.disturbances.touches(operation.invokedUs, operation.completedUs ?? Infinity);
      // A client that hangs in a fault begins fewer operations.
      if (isDisturbed || plan.faults.length > 0) comparer.leave();
      else comparer.compare('outcome', nameOf(id, operation), operation.outcome, 'never begun');
      continue;
    }
    const pair = { id, world: operation, real: made };
    byKey.set(operation.key, [...(byKey.get(operation.key) ?? []), pair]);
  }
  const isOneDatacenter = new Set(plan.nodes.map(({ datacenter }) => datacenter)).size === 1;
  const strangers = new Set([...strangersOf(worlds, world.history), ...strangersOf(reals, real.history)]);
  for (const [key, pairs] of byKey) {
    const chain = new Chain(pairs, world, real, comparer);
    // Clients without a plan wrote there as well, or another datacenter does.
    const isKnown = isOneDatacenter && !strangers.has(key) && pairs.length === lengthOf(worlds, key);
    chain.compare(isKnown);
    if (isKnown) compareFinals(key, chain, world.history, real.history, comparer);
  }
}

function lengthOf(operations: ReadonlyMap<string, Operation>, key: string): number {
  return [...operations.values()].filter((operation) => operation.key === key).length;
}

/** Keys that clients without a place in the plan wrote. */
function strangersOf(planned: ReadonlyMap<string, Operation>, history: History): readonly string[] {
  const known = new Set([...planned.values()].map(({ id }) => id));
  return history.filter(({ id, kind }) => kind !== 'get' && !known.has(id)).map(({ key }) => key);
}

/** The operations on one key, in the world's order. */
class Chain {
  readonly #pairs: readonly Pair[];
  readonly #world: ObjectRun;
  readonly #real: ObjectRun;
  readonly #comparer: Comparer;
  /** Ids of the world's reads that showed the same in both runs. */
  readonly #same = new Set<number>();
  #lastWrite: Pair | undefined;
  /** Whether the key's state follows from the order of its operations. */
  isExact = true;

  constructor(pairs: readonly Pair[], world: ObjectRun, real: ObjectRun, comparer: Comparer) {
    this.#pairs = pairs.toSorted((left, right) => left.world.id - right.world.id);
    this.#world = world;
    this.#real = real;
    this.#comparer = comparer;
  }

  compare(isKnown: boolean): void {
    for (const pair of this.#pairs) {
      const { world, real } = pair;
      const isAlone = isKnown && !this.#overlaps(pair);
      // A refusal for a condition depends on what the key holds.
      const isCertain = world.kind === 'get' || world.condition === undefined || (isAlone && this.isExact);
      const isCompared = isCertain && !this.#isDisturbed(pair);
      if (isCompared)
        this.#comparer.compare('outcome', nameOf(pair.id, world), ended(world), ended(real), real.reason);
      if (isRead(world) && isRead(real)) this.#read(pair.id, world, real, isAlone, isCompared);
      else if (!isRead(world) && !isRead(real)) {
        this.#write(pair, world, real, isAlone);
        if (!isCompared) this.#comparer.leave();
      }
    }
  }

  #read(id: string, world: ReadOperation, real: ReadOperation, isAlone: boolean, isCompared: boolean): void {
    const answered = world.outcome === 'ok' && real.outcome === 'ok';
    if (!answered || !isAlone || !isMajority(world) || this.#isAfterLoss(world, real)) {
      if (!isCompared) this.#comparer.leave();
      return;
    }
    const [left, right] = [shown(world), shown(real)];
    if (this.isExact) this.#comparer.compare('value', nameOf(id, world), left, right);
    else if (left !== right) {
      this.#comparer.leave();
      return;
    }
    this.isExact = true;
    if (left === right) this.#same.add(world.id);
  }

  #write(pair: Pair, world: WriteOperation, real: WriteOperation, isAlone: boolean): void {
    if (world.outcome === 'fail' && real.outcome === 'fail') return;
    const before = this.#lastWrite;
    this.#lastWrite = pair;
    const isCertain =
      isAlone &&
      world.outcome === 'ok' &&
      real.outcome === 'ok' &&
      isMajority(world) &&
      !this.#isAfterLoss(world, real);
    const carries = (world.contextFrom === undefined) === (real.contextFrom === undefined);
    const isSameContext = world.contextFrom === undefined || this.#same.has(world.contextFrom);
    if (!isCertain || !carries || !isSameContext) this.isExact = false;
    else if (!world.siblings && !this.#isLater(pair, before)) this.isExact = false;
  }

  /** Whether the write is newer than the one before by any clock. */
  #isLater({ world, real }: Pair, before: Pair | undefined): boolean {
    if (this.#world.disturbances.hasClockFaults || this.#real.disturbances.hasClockFaults) return false;
    if (before === undefined) return true;
    const isLate = (write: Operation, other: Operation): boolean =>
      write.invokedUs - (other.completedUs ?? Infinity) > clockErrorUs;
    return isLate(world, before.world) && isLate(real, before.real);
  }

  #isAfterLoss(world: Operation, real: Operation): boolean {
    return (
      (world.completedUs ?? Infinity) >= this.#world.disturbances.wipedUs ||
      (real.completedUs ?? Infinity) >= this.#real.disturbances.wipedUs
    );
  }

  #isDisturbed({ world, real }: Pair): boolean {
    const isNear = ({ disturbances }: ObjectRun, { invokedUs, completedUs }: Operation): boolean =>
      disturbances.touches(invokedUs, completedUs ?? Infinity);
    return isNear(this.#world, world) || isNear(this.#real, real);
  }

  /** Whether a write overlapped it, or it is a write and anything did; or the runs have another order. */
  #overlaps(pair: Pair): boolean {
    return this.#pairs.some((other) => {
      if (other === pair || (pair.world.kind === 'get' && other.world.kind === 'get')) return false;
      const inWorld = orderOf(pair.world, other.world);
      return inWorld === 'together' || orderOf(pair.real, other.real) !== inWorld;
    });
  }
}

function compareFinals(key: string, chain: Chain, world: History, real: History, comparer: Comparer): void {
  const lastOf = (history: History): ReadOperation | undefined =>
    history.findLast((one): one is ReadOperation => isRead(one) && one.final && one.key === key);
  const [left, right] = [lastOf(world), lastOf(real)];
  if (left === undefined || right === undefined) return;
  const name = `${key} after the calm`;
  if (!comparer.compare('final', name, ended(left), ended(right), right.reason)) return;
  if (chain.isExact && left.outcome === 'ok') comparer.compare('final', name, shown(left), shown(right));
  else comparer.leave();
}

function orderOf(one: Operation, other: Operation): 'before' | 'after' | 'together' {
  if ((one.completedUs ?? Infinity) < other.invokedUs) return 'before';
  return (other.completedUs ?? Infinity) < one.invokedUs ? 'after' : 'together';
}

function isMajority({ need, copies }: Operation): boolean {
  return 2 * need > copies;
}

function ended({ outcome, unmet }: Operation): string {
  return unmet === true ? `${outcome}, its condition does not hold` : outcome;
}

function shown({ values }: ReadOperation): string {
  return values.length === 0 ? 'nothing' : values.toSorted().join(' ');
}

function nameOf(id: string, { client, kind, key, node }: Operation): string {
  return `${id} ${client} ${kind} ${key} at ${node}`;
}
