/**
 * What a client hears that names its transaction, when that came to nothing before the name was looked for: somebody could
 * not be asked, or another transaction holds a key. An earlier one under the name may have been carried out, and then
 * "aborted" would be a lie to who has lost its answer: the other owners of the keys keep the name (name-spread.ts), this
 * node perhaps among them. They are asked before the client is told.
 */
import { usedBefore } from './client-names.ts';
import type { TransactionContext } from './context.ts';
import type { AbortReason, TransactionOutcome, TransactionRequest } from './outcomes.ts';
import { ordersOf } from './partition.ts';
import { recallName } from './recall.ts';
import type { Remembered } from './remembered.ts';

/**
 * Whoever was asked and answered has not said whether the name is new. A primary that finds a lock in the way asks nobody,
 * and its own disk may have gone back to an older image.
 */
const unsureReasons: ReadonlySet<AbortReason> = new Set([
  'no_targets',
  'prepare_timeout',
  'prepare_failed',
  'conflict',
]);

export function mayRepeat(
  { clientId, forceAbort }: TransactionRequest,
  outcome: TransactionOutcome,
): boolean {
  if (clientId === undefined || forceAbort) return false;
  return outcome.kind === 'aborted' && unsureReasons.has(outcome.reason);
}

/**
 * The outcome of the first transaction under the name, if somebody who answers knows of one; otherwise what is `told`, and
 * why that says nothing of an earlier one when too few could be asked.
 */
export async function firstOf(
  context: TransactionContext,
  remembered: Pick<Remembered, 'repeated'>,
  request: TransactionRequest,
  told: TransactionOutcome,
): Promise<TransactionOutcome> {
  const { io, lives, names, options, parts } = context;
  const orders = [...ordersOf(parts, lives, request, request.level ?? parts.settings.writeLevel).values()];
  const [first] = orders;
  if (first === undefined) return told;
  const whole = { ...first, operations: orders.flatMap(({ operations }) => operations) };
  const own = names.get(whole.clientId, io.clock.wallMs() - options.retentionMs);
  const timeoutMs = request.timeoutMs ?? parts.settings.timeoutMs;
  const used = own === undefined ? await recallName(context, whole, timeoutMs) : usedBefore(whole, own);
  if (used?.earlier !== undefined) return remembered.repeated(used.earlier);
  if (used === undefined || told.kind !== 'aborted') return told;
  // Another use of the name is a mistake to mend, whoever can be asked.
  if (used.reason === 'conflict') return { ...told, reason: used.reason, detail: used.detail };
  // A primary that could not tell either may have said so.
  return told.detail.endsWith(used.detail) ? told : { ...told, detail: `${told.detail}; ${used.detail}` };
}
