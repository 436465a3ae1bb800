/**
 * Records the history while it happens. An operation is opened at its invocation and closed at its end; one that is
 * never closed stays unknown.
 */
import type { ByDatacenter, History, Operation, ReadOperation, WriteOperation } from '../evidence/history.ts';

/** What is known at the invocation. */
export type Invocation = Pick<
  Operation,
  'client' | 'key' | 'siblings' | 'node' | 'datacenter' | 'copies' | 'need' | 'far' | 'agree' | 'invokedUs'
>;

/** What is known at the end. */
export type Completion = Pick<Operation, 'completedUs' | 'outcome' | 'reason' | 'unmet'>;

type Open<T> = { -readonly [Field in keyof T]: T[Field] };

/** The history of one run. */
export class HistoryRecorder {
  readonly #operations: (Open<ReadOperation> | Open<WriteOperation>)[] = [];

  /** All operations so far; open ones still change. */
  get history(): History {
    return this.#operations;
  }

  /** Opens a read and returns its id. */
  beginRead(invocation: Invocation, final: boolean): number {
    const id = this.#operations.length;
    this.#operations.push({ ...begun(id, invocation), kind: 'get', values: [], final });
    return id;
  }

  /** Opens a write and returns its id. */
  beginWrite(
    invocation: Invocation,
    write: Pick<WriteOperation, 'kind' | 'tag' | 'contextFrom' | 'condition' | 'excluded'>,
  ): number {
    const id = this.#operations.length;
    this.#operations.push({ ...begun(id, invocation), ...write, durableCopies: 0 });
    return id;
  }

  /** Closes a read. `need`: so many replicas have certainly answered; at least as many as were asked for. */
  endRead(id: number, completion: Completion, values: ReadOperation['values'], need?: number): void {
    const operation = this.#operations[id];
    if (operation?.kind !== 'get') return;
    complete(operation, completion);
    operation.values = values;
    if (need !== undefined) operation.need = Math.max(operation.need, need);
  }

  /** `farCopies`: as in `WriteOperation`. */
  endWrite(id: number, completion: Completion, durableCopies: number, farCopies?: ByDatacenter): void {
    const operation = this.#operations[id];
    if (operation === undefined || operation.kind === 'get') return;
    complete(operation, completion);
    operation.durableCopies = durableCopies;
    if (farCopies !== undefined) operation.farCopies = farCopies;
  }
}

/** What every operation has until it is answered. */
function begun(id: number, invocation: Invocation) {
  return {
    id,
    client: invocation.client,
    key: invocation.key,
    siblings: invocation.siblings,
    node: invocation.node,
    datacenter: invocation.datacenter,
    copies: invocation.copies,
    need: invocation.need,
    ...(invocation.far === undefined ? {} : { far: invocation.far }),
    agree: invocation.agree ?? false,
    invokedUs: invocation.invokedUs,
    completedUs: undefined,
    outcome: 'unknown',
    reason: unheard,
  } as const;
}

function complete(operation: Open<Completion>, completion: Completion): void {
  operation.completedUs = completion.completedUs;
  operation.outcome = completion.outcome;
  operation.reason = completion.reason;
  if (completion.unmet === true) operation.unmet = true;
}

const unheard = 'no answer was heard';
