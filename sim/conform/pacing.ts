/**
 * Makes the clients of processes keep the world's order: an operation begins when the operations on its key that had
 * ended in the world before it began have ended here too. Without that the two runs would drift apart within
 * milliseconds, and no read could be compared. Operations that overlapped in the world may overlap or not.
 */
import type { History, Operation } from '../evidence/history.ts';
import type { Plan } from '../plan/plan.ts';
import { HistoryRecorder } from '../workload/history-recorder.ts';
import type { Completion } from '../workload/history-recorder.ts';
import type { Pacing } from '../workload/load-world.ts';

/** An operation waits no longer than this for others, in milliseconds: a client may hang in a fault. */
const waitMsMax = 6_000;

/** The operations of the plan's clients of single keys, each with its id in the plan, in the order of its client. */
export function plannedOperations(plan: Plan, history: History): ReadonlyMap<string, Operation> {
  const found = new Map<string, Operation>();
  for (let client = 0; client < plan.clients; client++) {
    const planned = plan.operations.filter((operation) => operation.client === client);
    const made = history.filter((operation) => operation.client === `c${client}` && !isFinal(operation));
    made.forEach((operation, index) => {
      const id = planned[index]?.id;
      if (id !== undefined) found.set(id, operation);
    });
  }
  return found;
}

/** The plan with only the operations of single keys that were made in the world. */
export function onlyMade(plan: Plan, history: History): Plan {
  const made = plannedOperations(plan, history);
  return { ...plan, operations: plan.operations.filter(({ id }) => made.has(id)) };
}

/** Records the history of processes, and lets clients begin in the world's order. */
export class PacedRecorder extends HistoryRecorder {
  /** By operation: those that must have ended before. */
  readonly #before = new Map<string, readonly string[]>();
  /** By client and place in its order: the operation. */
  readonly #ids = new Map<string, string>();
  readonly #made = new Map<string, number>();
  readonly #ended = new Set<string>();
  readonly #places = new Map<number, string>();
  readonly #waiting = new Set<() => void>();

  constructor(plan: Plan, worlds: History) {
    super();
    const operations = [...plannedOperations(plan, worlds)];
    const byKey = new Map<string, [string, Operation][]>();
    for (const entry of operations) {
      const { key } = entry[1];
      byKey.set(key, [...(byKey.get(key) ?? []), entry]);
    }
    for (const [id, { key, client, invokedUs }] of operations) {
      const before = (byKey.get(key) ?? []).filter(
        ([, other]) => other.client !== client && (other.completedUs ?? Infinity) < invokedUs,
      );
      this.#before.set(
        id,
        before.map(([other]) => other),
      );
    }
    for (let client = 0; client < plan.clients; client++) {
      const planned = plan.operations.filter((operation) => operation.client === client);
      planned.forEach(({ id }, index) => this.#ids.set(`c${client} ${index}`, id));
    }
  }

  /** What clients wait for. */
  readonly pacing: Pacing = (operation, stopped) => {
    const before = this.#before.get(operation) ?? [];
    const isDue = (): boolean => stopped() || before.every((other) => this.#ended.has(other));
    if (isDue()) return Promise.resolve();
    return new Promise((resolve) => {
      const go = (): void => {
        this.#waiting.delete(look);
        clearTimeout(timer);
        resolve();
      };
      const look = (): void => {
        if (isDue()) go();
      };
      const timer = setTimeout(go, waitMsMax);
      this.#waiting.add(look);
    });
  };

  override beginRead(...words: Parameters<HistoryRecorder['beginRead']>): number {
    const id = super.beginRead(...words);
    if (!words[1]) this.#begun(id, words[0].client);
    return id;
  }

  override beginWrite(...words: Parameters<HistoryRecorder['beginWrite']>): number {
    const id = super.beginWrite(...words);
    this.#begun(id, words[0].client);
    return id;
  }

  override endRead(id: number, completion: Completion, values: readonly string[]): void {
    super.endRead(id, completion, values);
    this.#over(id);
  }

  override endWrite(...words: Parameters<HistoryRecorder['endWrite']>): void {
    super.endWrite(...words);
    this.#over(words[0]);
  }

  #begun(id: number, client: string): void {
    const place = this.#made.get(client) ?? 0;
    this.#made.set(client, place + 1);
    const operation = this.#ids.get(`${client} ${place}`);
    if (operation !== undefined) this.#places.set(id, operation);
  }

  #over(id: number): void {
    const operation = this.#places.get(id);
    if (operation === undefined) return;
    this.#ended.add(operation);
    for (const look of [...this.#waiting]) look();
  }
}

function isFinal(operation: Operation): boolean {
  return operation.kind === 'get' && operation.final;
}
