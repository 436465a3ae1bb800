/** Validates the transactions of a plan file, field by field. */
import type { Field } from './fields.ts';
import { readChoice, readFlag, readInteger, readList, readObject, readText, refuse } from './fields.ts';
import { planLimits } from './plan-limits.ts';
import type { PlanStructures, PlanTransaction } from './plan-transactions.ts';
import { transactionKinds, transactionLevels } from './plan-transactions.ts';

/** Reads the number of each structure. Throws `PlanInvalid`. */
export function readStructures(field: Field): PlanStructures {
  const fields = readObject(field, ['accounts', 'lists', 'twins', 'triples']);
  return {
    accounts: readInteger(fields.accounts, 0, planLimits.keysMax),
    lists: readInteger(fields.lists, 0, planLimits.keysMax),
    twins: readInteger(fields.twins, 0, planLimits.keysMax),
    triples: readInteger(fields.triples, 0, planLimits.keysMax),
  };
}

/** Reads one transaction; `clients` and `structures` bound its numbers. Throws `PlanInvalid`. */
export function readTransaction(field: Field, clients: number, structures: PlanStructures): PlanTransaction {
  const fields = readObject(field, [
    ...(['id', 'client', 'thinkUs', 'kind', 'places', 'amount', 'forced', 'named', 'level'] as const),
  ]);
  const kind = readChoice(fields.kind, transactionKinds);
  return {
    id: readText(fields.id, 32),
    client: readInteger(fields.client, 0, Math.max(0, clients - 1)),
    thinkUs: readInteger(fields.thinkUs, 0, planLimits.durationUsMax),
    kind,
    places: readPlaces(fields.places, kind, structures),
    amount: readInteger(fields.amount, 1, 1000),
    forced: readFlag(fields.forced),
    named: readFlag(fields.named),
    level: readChoice(fields.level, transactionLevels),
  };
}

function readPlaces(
  field: Field,
  kind: PlanTransaction['kind'],
  { accounts, lists, twins, triples }: PlanStructures,
): readonly number[] {
  const counts = {
    transfer: accounts,
    append: lists,
    look: lists,
    twin: twins,
    stamp: triples,
    erase: triples,
    restamp: triples,
    put: triples,
    move: triples,
    bunch: triples,
  };
  const count = counts[kind];
  const places = readList(field, count, (item) => readInteger(item, 0, count - 1));
  const wanted = kind === 'transfer' || kind === 'move' ? 2 : 1;
  const right = kind === 'append' || kind === 'look' ? places.length >= 1 : places.length === wanted;
  if (!right) refuse(field, `${kind} takes ${wanted}, this has ${places.length}`);
  if (new Set(places).size !== places.length) refuse(field, 'a place is named twice');
  return places;
}
