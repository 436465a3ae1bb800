/**
 * The Redis part of `durable-before-ack` (INV5), over the values of pipelines (plain SETs alone and together, the other
 * SETs, INCR, MSET, and what stands between MULTI and EXEC). When a client has the reply to a command that changed a
 * key, as many replicas as the level names hold durably what it left, or what a later command on the key left, in their
 * data or in the prepare record of a branch. (Commands on a key that wait together are written as one: only the value of
 * the last of them is stored.)
 *
 * Skipped: deletions and increments of missing keys, whose values no disk can be searched for; changes that a deletion
 * may have followed, if there are too few copies; replies with an error; keys of transactions that an operator's decision
 * left with two outcomes. Losses of a lying disk are excused.
 */
import type { KeeperGroup, PipelineCopies } from '../../evidence/pipeline-copies.ts';
import { valueSpacing } from '../../evidence/redis-pipelines.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';
import { isMixed } from './redis-mixed.ts';
import type { PipelineStep } from './pipeline-steps.ts';
import { describeStep, originOf, precedes, stepsByKey } from './pipeline-steps.ts';

/**
 * Checks every acknowledged change. `lostBetween`: number of nodes whose disks lost data between two instants; `mixed`:
 * keys to skip (`redis-mixed.ts`).
 */
export function checkRedisCopies(
  records: readonly RedisRecord[],
  copies: PipelineCopies,
  lostBetween: (fromUs: number, toUs: number) => number,
  mixed: ReadonlySet<string> = new Set(),
): CheckReport {
  const tally = new Tally('durable-before-ack');
  for (const [key, steps] of stepsByKey(records, new Tally('durable-before-ack'))) {
    if (isMixed(mixed, key)) {
      tally.skip();
      continue;
    }
    const changes = new Changes(steps);
    for (const step of steps) {
      const { record, outcome, leaves, doneUs } = step;
      if (outcome !== 'ok' || typeof leaves !== 'number') continue;
      if (leaves < valueSpacing) {
        tally.skip();
        continue;
      }
      const lost = lostBetween(record.invokedUs, doneUs);
      for (const { nodes, need } of copies.keepersOf(key, record.datacenter)) {
        const holders = nodes.filter((node) => changes.isHeld(step, copies.heldBy(node)));
        if (holders.length < need - lost && changes.mayBeDeleted(step)) tally.skip();
        else
          tally.compare(holders.length >= need - lost, doneUs, () =>
            describeLack(step, holders, need - lost, { nodes, need }),
          );
      }
    }
  }
  return tally.report();
}

function describeLack(
  step: PipelineStep,
  holders: readonly string[],
  owed: number,
  { nodes }: KeeperGroup,
): string {
  return `${describeStep(step)}: acknowledged with ${holders.length} of ${owed} promised durable copies (on ${holders.join(' ') || 'none'} of ${nodes.join(' ')})`;
}

/** The steps of one key that change it, and what may stand for what. */
class Changes {
  readonly #deletions: readonly PipelineStep[];
  /** By value: the step that left it. */
  readonly #writers = new Map<number, PipelineStep>();

  constructor(steps: readonly PipelineStep[]) {
    this.#deletions = steps.filter(({ leaves, outcome }) => leaves === 'nil' && outcome !== 'fail');
    for (const step of steps) if (typeof step.leaves === 'number') this.#writers.set(step.leaves, step);
  }

  /** Whether the disk with these values held what the step left, or what a later step left, when it had its reply. */
  isHeld(step: PipelineStep, held: ReadonlyMap<number, number>): boolean {
    const isDurable = (value: number): boolean => (held.get(value) ?? Infinity) <= step.doneUs;
    if (isDurable(Number(step.leaves))) return true;
    for (const [value, sinceUs] of held)
      if (sinceUs <= step.doneUs && this.#mayFollow(value, step)) return true;
    return false;
  }

  mayBeDeleted(step: PipelineStep): boolean {
    return this.#deletions.some((deletion) => deletion !== step && !surelyPrecedes(deletion, step));
  }

  /** The value is one of this key, and its step does not surely precede `step`. */
  #mayFollow(value: number, step: PipelineStep): boolean {
    const writer = this.#writers.get(value);
    if (writer !== undefined) return writer !== step && !surelyPrecedes(writer, step);
    // An increment of unknown outcome left it.
    return this.#writers.has(originOf(value));
  }
}

/** A step of unknown outcome may take effect at any time. */
function surelyPrecedes(one: PipelineStep, other: PipelineStep): boolean {
  return one.outcome === 'ok' && precedes(one, other);
}
