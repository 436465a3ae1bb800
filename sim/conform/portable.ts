/**
 * What of a plan real processes can run too, and why the rest is left out. Most kinds of faults strike processes as they
 * are (`kill -9`, SIGSTOP, proxies, clocks); those that need a disk that forgets or lies do not.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import { clientFaults } from '../faults/client.ts';
import { clockFaults } from '../faults/clock.ts';
import type { FaultKind } from '../faults/fault-table.ts';
import type { CommonFaultRow } from '../faults/fault-row.ts';
import { commonMembershipFaults } from '../faults/membership.ts';
import { networkFaults } from '../faults/network.ts';
import { processFaults } from '../faults/process.ts';
import type { Plan, PlanFault } from '../plan/plan.ts';

/** Something of a plan that is left out, and why. */
export interface LeftOut {
  /** The kind of a fault, or a part of the plan. */
  readonly what: string;
  readonly count: number;
  readonly why: string;
}

/** The portable part of a plan. */
export interface Ported {
  readonly plan: Plan;
  /** How many faults of each kind it has. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  readonly leftOut: readonly LeftOut[];
}

const forgets = 'a killed process loses nothing that it wrote; both runs have a process-crash instead';
const lies = 'the disk of a machine cannot be made to do this to one process';

/** Kinds that are not portable, with the reason. */
export const notPortable: Readonly<Partial<Record<FaultKind, string>>> = {
  'crash-loop': 'it follows steps of the disk, which only the world shows',
  'lying-sync': lies,
  'misdirected-io': lies,
  'bit-rot': lies,
  'read-error': lies,
  'write-error': lies,
  'sync-error': lies,
  'slow-disk': lies,
  'disk-full': lies,
  'disk-rollback': lies,
  'foreign-disk': lies,
  'log-truncation': lies,
  'file-loss': lies,
  'snapshot-bit-rot': lies,
  'snapshot-truncation': lies,
  'snapshot-version-skew': lies,
  'foreign-snapshot': lies,
  'stale-snapshot': lies,
  'leaf-corruption': lies,
  'wrong-identity': 'an impostor is a process of the world only',
  'removed-node-restart': 'it follows steps of the ring change that only the world shows in time',
  'wasm-trap': 'its check follows the calls of modules in the world',
  'wasm-infinite-loop': 'its check follows the calls of modules in the world',
  'wasm-memory-exhaustion': 'its check follows the calls of modules in the world',
  'wasm-bad-result': 'its check follows the calls of modules in the world',
  'wasm-module-swap': 'its check follows the calls of modules in the world',
};

/** Deaths with unsynced writes lost: of a machine, not of a process. Both runs have a death of the process instead. */
const deathsOfMachines: readonly FaultKind[] = ['power-loss', 'torn-write', 'lost-directory-entries'];

/** The rows that strike processes as they strike the world, by kind. */
export const commonRows: ReadonlyMap<string, CommonFaultRow> = new Map(
  Object.entries<CommonFaultRow>({
    ...networkFaults,
    ...processFaults,
    ...commonMembershipFaults,
    ...clockFaults,
    ...clientFaults,
  }).filter(([kind]) => !Object.hasOwn(notPortable, kind)),
);

/** Events that only the world shows: those of disks, of the network and of hosts. */
const worldsEvent = /^(disk|net|clock|host|world|run)\./;

/** Whether a moment is an event of the world: at another time, the fault would be another. */
function waitsForTheWorld({ when }: PlanFault): boolean {
  return 'event' in when && worldsEvent.test(when.event);
}

/**
 * The portable part of a plan. Throws `BadRequest` with the reasons if nothing of it is portable, or nothing would be
 * compared.
 */
export function portablePartOf(plan: Plan): Ported {
  const leftOut = new Map<string, LeftOut>();
  const leaveOut = (what: string, why: string, count = 1): void => {
    const known = leftOut.get(what);
    leftOut.set(what, { what, why, count: (known?.count ?? 0) + count });
  };
  const faults = plan.faults.flatMap((fault) => {
    const why = reasonAgainst(fault);
    if (why !== undefined) {
      leaveOut(fault.kind, why);
      return [];
    }
    const milder = withoutLosses(fault);
    if (milder !== fault) leaveOut(fault.kind, forgets);
    return [milder];
  });
  const isEmpty =
    plan.operations.length + plan.transactions.length + (plan.redisOperations ?? []).length === 0;
  if (isEmpty)
    throw new LockstepError(
      'BadRequest',
      `${plan.scenario}: it has no operation whose outcome could be compared`,
    );
  if (faults.length === 0 && plan.faults.length > 0) {
    const reasons = [...leftOut.values()].map(({ what, why }) => `${what}: ${why}`).join('; ');
    throw new LockstepError('BadRequest', `${plan.scenario}: none of its faults is portable (${reasons})`);
  }
  const counts: Partial<Record<FaultKind, number>> = {};
  for (const { kind } of faults) counts[kind] = (counts[kind] ?? 0) + 1;
  return { plan: { ...plan, faults }, faults: counts, leftOut: [...leftOut.values()] };
}

function reasonAgainst(fault: PlanFault): string | undefined {
  const why = notPortable[fault.kind];
  if (why !== undefined) return why;
  if (waitsForTheWorld(fault)) return 'it waits for an event that only the world shows';
  return undefined;
}

/** The fault as a process can have it: its files are whole. */
function withoutLosses(fault: PlanFault): PlanFault {
  if (deathsOfMachines.includes(fault.kind)) return { ...fault, kind: 'process-crash', params: {} };
  if (fault.kind === 'failure-domain-outage' && fault.params['keeps'] === 'synced')
    return { ...fault, params: { keeps: 'everything' } };
  return fault;
}
