/** How sentences about a run name instants, nodes and several of them. Pure. */
import type { RecordedOperation, Recording } from './recording.ts';

/** Virtual time as the sentences of explanations say it: `1.2040 s`. */
export function seconds(us: number): string {
  return `${(us / 1_000_000).toFixed(4)} s`;
}

/** `n1`, or `n1 (dc2)` where the cluster has several datacenters. */
export function placeOf({ lanes, plan }: Pick<Recording, 'lanes' | 'plan'>, lane: number): string {
  const name = lanes[lane]?.name ?? '';
  const node = plan.nodes.find((one) => one.name === name);
  const several = new Set(plan.nodes.map(({ datacenter }) => datacenter)).size > 1;
  return node === undefined || !several ? name : `${name} (${node.datacenter})`;
}

/** `n1`, `n1 and n2`, `n1, n2 and n3`. */
export function listOf(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** `#12 c1`, `#final 3 j-after-n4`: how texts name what a client did. */
export function handleOf({ lanes }: Pick<Recording, 'lanes'>, { text, lane }: RecordedOperation): string {
  const client = lanes[lane]?.name ?? '';
  const at = text.indexOf(` ${client} `);
  // What operators do, and listings, have no number.
  return !text.startsWith('#') || at < 0
    ? text.split(' ', 2).join(' ')
    : text.slice(0, at + 1 + client.length);
}
