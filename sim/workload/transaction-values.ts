/**
 * Encodes the values of transactions' keys: the tag, so that disks can be searched for it, then the balance or the
 * list.
 */
import type { TransactionValue } from '../evidence/transactions.ts';

const form = /^(«w:[^»]*») ?(-?\d+)?(\[[\d,]*\])?$/;

/** The bytes of a value. */
export function formatValue({ tag, balance, list }: TransactionValue): Buffer {
  if (balance !== undefined) return Buffer.from(`${tag} ${balance}`);
  return Buffer.from(list === undefined ? tag : `${tag} [${list.join(',')}]`);
}

/** The value in `bytes`. Bytes that no transaction wrote give a value whose tag says so. */
export function parseValue(bytes: Uint8Array): TransactionValue {
  const text = Buffer.from(bytes).toString('utf8');
  const [, tag, balance, list] = form.exec(text) ?? [];
  if (tag === undefined) return { tag: `(no value of ours: ${text})`, balance: undefined, list: undefined };
  return {
    tag,
    balance: balance === undefined ? undefined : Number(balance),
    list: list === undefined ? undefined : numbersIn(list),
  };
}

function numbersIn(list: string): readonly number[] {
  const inner = list.slice(1, -1);
  return inner === '' ? [] : inner.split(',').map(Number);
}
