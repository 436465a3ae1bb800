/**
 * Finds cycles of dependencies between transactions and names each by the weakest kinds of edges that make it (Adya,
 * Liskov, O'Neil, "Generalized Isolation Level Definitions", 2000; names as in Elle). Per name it reports one cycle, as
 * short as a search from one of its edges finds. An edge is searched from only if both its ends are in one strongly
 * connected component (Tarjan, "Depth-first search and linear graph algorithms", 1972), so a history without a cycle
 * costs time in proportion to its edges. Pure and deterministic.
 */
export interface Edge {
  readonly kind: 'ww' | 'wr' | 'rw' | 'realtime';
  readonly from: number;
  readonly to: number;
  /** The list with the dependency; '' for the order in real time. */
  readonly key: string;
}

/** A transaction with its times in virtual microseconds; `completedUs` is undefined if its end is unknown. */
export interface Timed {
  readonly id: number;
  readonly invokedUs: number;
  readonly completedUs: number | undefined;
  readonly outcome: string;
}

/** One cycle of dependencies. */
export interface Cycle {
  /** `G0`, `G1c`, `G-single`, `G2`, and these with `-realtime`. */
  readonly name: string;
  /** Transaction ids in order; the last leads to the first. */
  readonly path: readonly number[];
  /** The edge that leaves each transaction of the path. */
  readonly edges: readonly Edge[];
}

type Kinds = readonly Edge['kind'][];

const base: readonly (readonly [name: string, begins: Edge['kind'], along: Kinds])[] = [
  ['G0', 'ww', ['ww']],
  ['G1c', 'wr', ['ww', 'wr']],
  ['G-single', 'rw', ['ww', 'wr']],
  ['G2', 'rw', ['ww', 'wr', 'rw']],
];

/** The first cycle of each name. A cycle is not reported again under the longer name of a weaker anomaly. */
export function findCycles(edges: readonly Edge[], transactions: readonly Timed[]): readonly Cycle[] {
  const plain = cyclesOf(edges, []);
  if (plain.length > 0) return plain;
  return cyclesOf(edges, realtimeEdges(transactions)).map((cycle) => ({
    ...cycle,
    name: `${cycle.name}-realtime`,
  }));
}

function cyclesOf(edges: readonly Edge[], realtime: readonly Edge[]): readonly Cycle[] {
  const cycles: Cycle[] = [];
  const componentOf = componentsOf(byStart([...edges, ...realtime]));
  for (const [name, begins, along] of base) {
    const usable = [...edges.filter(({ kind }) => along.includes(kind)), ...realtime];
    const out = byStart(usable);
    for (const edge of edges) {
      if (edge.kind !== begins || componentOf.get(edge.from) !== componentOf.get(edge.to)) continue;
      const back = shortestPath(out, edge.to, edge.from);
      if (back === undefined) continue;
      const loop = [edge, ...back];
      // Real-time order alone is no dependency: the reported path omits its intermediate points.
      const told = loop.filter(({ from }) => from >= 0);
      cycles.push({ name, path: told.map(({ from }) => from), edges: told });
      return cycles;
    }
  }
  return cycles;
}

/**
 * Edges from transactions that ended to transactions that began later. To avoid an edge for every pair, each end leads
 * to a point in time (a negative id), each point to the next one, and each point to the transactions that begin after
 * it.
 */
function realtimeEdges(transactions: readonly Timed[]): readonly Edge[] {
  const ended = transactions.filter(({ outcome }) => outcome === 'ok');
  const ends = [...new Set(ended.map(({ completedUs }) => completedUs ?? 0))].sort(
    (left, right) => left - right,
  );
  const pointOf = new Map(ends.map((atUs, index) => [atUs, -1 - index]));
  const edge = (from: number, to: number): Edge => ({ kind: 'realtime', from, to, key: '' });
  const edges = ends.slice(1).map((_, index) => edge(-1 - index, -2 - index));
  for (const { id, completedUs } of ended) edges.push(edge(id, pointOf.get(completedUs ?? 0) ?? -1));
  for (const { id, invokedUs } of transactions) {
    const before = countBelow(ends, invokedUs) - 1;
    if (before >= 0) edges.push(edge(-1 - before, id));
  }
  return edges;
}

/** How many of the ascending numbers are less than `limit`. */
function countBelow(ascending: readonly number[], limit: number): number {
  let [from, to] = [0, ascending.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((ascending[middle] ?? 0) < limit) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * The strongly connected component of every node that an edge leaves, by a number; undefined for the others, which are
 * in no cycle. Without recursion: a history has tens of thousands of transactions.
 */
function componentsOf(out: ReadonlyMap<number, readonly Edge[]>): ReadonlyMap<number, number> {
  const componentOf = new Map<number, number>();
  const placeOf = new Map<number, number>();
  const lowest = new Map<number, number>();
  const open: number[] = [];
  for (const root of out.keys()) {
    if (placeOf.has(root)) continue;
    const path = [{ node: root, next: 0 }];
    for (let step = path.at(-1); step !== undefined; step = path.at(-1)) {
      const { node } = step;
      if (step.next === 0) {
        placeOf.set(node, placeOf.size);
        lowest.set(node, placeOf.size - 1);
        open.push(node);
      }
      const edge = out.get(node)?.[step.next++];
      if (edge !== undefined) {
        if (!out.has(edge.to) || componentOf.has(edge.to)) continue;
        const place = placeOf.get(edge.to);
        if (place === undefined) path.push({ node: edge.to, next: 0 });
        else lowest.set(node, Math.min(lowest.get(node) ?? 0, place));
        continue;
      }
      path.pop();
      const low = lowest.get(node) ?? 0;
      const before = path.at(-1)?.node;
      if (before !== undefined) lowest.set(before, Math.min(lowest.get(before) ?? 0, low));
      if (low !== placeOf.get(node)) continue;
      for (let member = open.pop(); member !== undefined; member = open.pop()) {
        componentOf.set(member, low);
        if (member === node) break;
      }
    }
  }
  return componentOf;
}

function byStart(edges: readonly Edge[]): ReadonlyMap<number, readonly Edge[]> {
  const out = new Map<number, Edge[]>();
  for (const edge of edges) {
    const known = out.get(edge.from);
    if (known === undefined) out.set(edge.from, [edge]);
    else known.push(edge);
  }
  return out;
}

/** A path with the fewest edges; undefined if there is none. */
function shortestPath(
  out: ReadonlyMap<number, readonly Edge[]>,
  from: number,
  to: number,
): readonly Edge[] | undefined {
  const cameBy = new Map<number, Edge | undefined>([[from, undefined]]);
  const queue = [from];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    if (next === to) return walkBack(cameBy, to);
    for (const edge of out.get(next) ?? []) {
      if (cameBy.has(edge.to)) continue;
      cameBy.set(edge.to, edge);
      queue.push(edge.to);
    }
  }
  return undefined;
}

function walkBack(cameBy: ReadonlyMap<number, Edge | undefined>, to: number): readonly Edge[] {
  const path: Edge[] = [];
  for (let edge = cameBy.get(to); edge !== undefined; edge = cameBy.get(edge.from)) path.unshift(edge);
  return path;
}
