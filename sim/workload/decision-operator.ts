/**
 * An operator who does not wait: decides what a node lists in doubt while its coordinator may still come back, or abandons it,
 * and looks at the list again.
 */
import type { LockInDoubt } from '../../engine/api/pbc/transaction-messages.ts';
import type { Io } from '../../engine/io/io.ts';
import type { DecisionRecord, OperatorDecision } from '../evidence/operator-decisions.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';
import { PbConnection } from './pb-connection.ts';

const timeoutUs = 2_000_000;

/** What the operator works with. */
export interface DecisionOperatorContext {
  readonly world: World;
  readonly cluster: Cluster;
  readonly token: string | undefined;
}

/** The operator of one run, and the decisions. */
export class DecisionOperator {
  readonly decisions: DecisionRecord[] = [];
  readonly #context: DecisionOperatorContext;

  constructor(context: DecisionOperatorContext) {
    this.#context = context;
  }

  /** Decides all branches that the node lists; commits and rollbacks over those that are prepared. */
  async decide(id: string, node: string, decision: OperatorDecision, io: Io): Promise<void> {
    const connection = await this.#connect(node, io);
    if (connection === undefined) return;
    for (const entry of (await listed(connection)) ?? []) {
      const state = stateOf(entry);
      if (!state.startsWith('branch') || (decision !== 'abandon' && state !== 'branch prepared')) continue;
      await this.#decideOne(id, node, decision, entry, connection);
    }
    connection.close();
  }

  async #decideOne(
    id: string,
    node: string,
    decision: OperatorDecision,
    entry: LockInDoubt,
    connection: PbConnection,
  ): Promise<void> {
    const xid = textOf(entry.transaction_id);
    const message = { transaction_id: entry.transaction_id, heuristic: Buffer.from(decision) };
    const exchange = await connection.ask({ kind: 'transactionResolve', message }, timeoutUs);
    const answered = exchange.kind === 'lost' ? undefined : answerOf(exchange.answer);
    const later = answered === undefined ? undefined : await listed(connection);
    const again = later?.find((one) => textOf(one.transaction_id) === xid && textOf(one.role) === 'branch');
    this.decisions.push({
      ...{ id, node, xid, decision, answered, atUs: this.#context.world.nowUs },
      ...{ state: stateOf(entry), coordinator: textOf(entry.coordinator) },
      after: later === undefined ? undefined : again === undefined ? 'over' : stateOf(again),
    });
  }

  async #connect(node: string, io: Io): Promise<PbConnection | undefined> {
    const { cluster, token } = this.#context;
    try {
      return await PbConnection.open(io, { address: cluster.address(node, 'pb'), token }, timeoutUs);
    } catch {
      // The node is down, or too slow: nothing is asked.
      return undefined;
    }
  }
}

async function listed(connection: PbConnection): Promise<readonly LockInDoubt[] | undefined> {
  const exchange = await connection.ask({ kind: 'transactionList' }, timeoutUs);
  if (exchange.kind === 'lost' || exchange.answer.kind !== 'inDoubt') return undefined;
  return exchange.answer.message.transactions ?? [];
}

function answerOf(
  answer: Extract<Awaited<ReturnType<PbConnection['ask']>>, { kind: 'answered' }>['answer'],
): string {
  if (answer.kind === 'failed') return answer.code ?? answer.text;
  return answer.kind === 'transacted' ? textOf(answer.message.outcome) : answer.kind;
}

function stateOf({ role, state }: LockInDoubt): string {
  return `${textOf(role)} ${textOf(state)}`;
}

function textOf(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}
