/**
 * Determines where a function's NaNs must be made canonical. The standard does not fix which NaN an operation returns,
 * so its bits must not be observable: not in memory, in an integer, in a global, in another function, or in the sign
 * that copysign takes. Most NaNs are never observed, because the next operation consumes them and returns a new one. A
 * sum that a loop collects in a local is observed once, where it is stored.
 *
 * Every float on the operand stack and in a local is traced to its origin: an operation, the reading of a local (and
 * everything the function ever writes to it), or a choice of others, perhaps with another sign. An observation marks
 * the origins, and only marked ones are made canonical, at the origin. Floats that a module loads, receives or holds as
 * constants keep their bits. A local that only ever holds fresh results may instead be made canonical where it is read;
 * the rewriter takes the place with less weight, by the enclosing loops. The effect equals that of making every result
 * canonical at once.
 *
 * Operands that cross the border of a block or a branch count as observed.
 */
import type { CodeWriter } from './code-writer.ts';
import type { Operation } from './opcodes.ts';
import { op, valueTypes } from './opcodes.ts';

/** The width of a float. */
export type FloatWidth = 'f32' | 'f64';

/** A position in the rewritten code behind which the float on top of the stack is made canonical. */
export interface CanonicalSite {
  readonly at: number;
  readonly width: FloatWidth;
}

/** The position of an instruction; one object is reused for all of a function. */
export interface Surroundings {
  /** Height of the operand stack before the instruction, and the part of it that belongs to enclosing blocks. */
  height: number;
  base: number;
  /** Number of enclosing loops. */
  loops: number;
  /** Offset behind the instruction in the current run of code. */
  at: number;
}

const nowhere: Readonly<Surroundings> = { height: 0, base: 0, loops: 0, at: 0 };

interface Node {
  readonly kind: 'operation' | 'local' | 'choice';
  readonly width: FloatWidth;
  readonly loops: number;
  /** Offset in the current run, later in the function's code; meaningless for choices. */
  at: number;
  readonly local: number;
  /** The alternatives of a choice. */
  readonly either: readonly Float[];
  seen: boolean;
}

/** A float whose bits are kept; one that is never a NaN of unknown bits; or its origin. */
type Float = 'kept' | 'number' | Node;

interface Local {
  readonly width: FloatWidth;
  /** Set while the local only ever holds fresh results and numbers. */
  fresh: boolean;
  readonly writers: Node[];
  readonly seenReads: Node[];
}

/** A site in a loop weighs 16 times as much as one outside of it, up to a depth. */
const loopWeightBits = 4;
const loopDepthMax = 5;

/** The analysis of one function. */
export class NanFlow {
  readonly #locals: (Local | undefined)[];
  readonly #operands: Float[] = [];
  readonly #nodes: Node[] = [];
  /** Nodes before this index have their final offsets. */
  #placed = 0;

  /** `types`: those of the function's parameters, then of its locals. */
  constructor(types: readonly number[], parameterCount: number) {
    this.#locals = types.map((type, index): Local | undefined => {
      const width = type === valueTypes.f64 ? 'f64' : type === valueTypes.f32 ? 'f32' : undefined;
      return width && { width, fresh: index >= parameterCount, writers: [], seenReads: [] };
    });
  }

  /** Processes an instruction that is neither control nor a call. `index`: its immediate, or -1. */
  plain(operation: Operation, code: number, index: number, where: Readonly<Surroundings>): void {
    const { pops, pushes, absorbsNan, makesNan } = operation;
    const { base, height } = where;
    const top = this.#operand(base, height - 1);
    const local = this.#locals[index];
    let result: Float = 'kept';
    if (code === op.localGet) {
      if (local) result = this.#node('local', local.width, where, index);
    } else if (code === op.localSet || code === op.localTee) {
      if (local) this.#write(local, top);
      result = top;
    } else if (code === op.select || code === op.selectTyped) {
      result = this.#choice([this.#operand(base, height - 2), this.#operand(base, height - 3)]);
    } else if (movesBits(code)) {
      result = this.#choice([top]);
    } else if (code === op.f32Copysign || code === op.f64Copysign) {
      see(top);
      result = this.#choice([this.#operand(base, height - 2)]);
    } else {
      if (absorbsNan !== true) this.seen(base, height - pops, height);
      if (makesNan !== undefined) result = this.#node('operation', makesNan, where);
      else if (isNumber(code)) result = 'number';
    }
    if (pushes > 0) this.#operands[Math.max(base, height - pops)] = result;
  }

  /** The operand at this height is a constant that is not a NaN. */
  number(at: number): void {
    this.#operands[at] = 'number';
  }

  /** The operands from `from` to `to` become observable; those below `base` are out of reach of the instruction. */
  seen(base: number, from: number, to: number): void {
    for (let at = Math.max(base, from); at < to; at++) see(this.#operand(base, at));
  }

  /** A block, a branch or a call put these operands there. */
  given(from: number, to: number): void {
    for (let at = from; at < to; at++) this.#operands[at] = 'kept';
  }

  /** The current run was appended to the function's code at `start`. */
  runPlaced(start: number): void {
    for (; this.#placed < this.#nodes.length; this.#placed++) {
      const node = this.#nodes[this.#placed];
      if (node) node.at += start;
    }
  }

  /** All sites, in order. */
  sites(): CanonicalSite[] {
    const chosen = new Set<Node>();
    const marked = new Set<Node>();
    const open = this.#nodes.filter(({ seen }) => seen);
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (marked.has(node)) continue;
      marked.add(node);
      open.push(...this.#mark(node, chosen));
    }
    for (const local of this.#locals) if (local) this.#settle(local, chosen);
    return [...chosen].sort((left, right) => left.at - right.at);
  }

  /** Chooses an observed node, or returns the nodes whose bits it exposes. */
  #mark(node: Node, chosen: Set<Node>): Node[] {
    const local = this.#locals[node.local];
    if (node.kind === 'choice') return node.either.filter((float) => typeof float === 'object');
    if (local === undefined) chosen.add(node);
    else if (local.fresh) local.seenReads.push(node);
    else return local.writers.splice(0);
    return [];
  }

  /** Chooses, for an observed local of fresh results, between the places where it is read and where it is written. */
  #settle({ writers, seenReads }: Local, chosen: Set<Node>): void {
    if (seenReads.length === 0) return;
    const open = writers.filter((node) => !chosen.has(node));
    for (const node of weightOf(seenReads) <= weightOf(open) ? seenReads : open) chosen.add(node);
  }

  #operand(base: number, at: number): Float {
    return at < base ? 'kept' : (this.#operands[at] ?? 'kept');
  }

  #write(local: Local, float: Float): void {
    if (typeof float === 'object') local.writers.push(float);
    if (float === 'kept' || (typeof float === 'object' && float.kind !== 'operation')) local.fresh = false;
  }

  /** One of these floats, perhaps with another sign. */
  #choice(floats: readonly Float[]): Float {
    const made = floats.find((float) => typeof float === 'object');
    if (made !== undefined) return this.#node('choice', made.width, nowhere, -1, floats);
    return floats.every((float) => float === 'number') ? 'number' : 'kept';
  }

  #node(
    kind: Node['kind'],
    width: FloatWidth,
    { loops, at }: Readonly<Surroundings>,
    local = -1,
    either: readonly Float[] = [],
  ): Node {
    const node = { kind, width, loops, at, local, either, seen: false };
    this.#nodes.push(node);
    return node;
  }
}

/** Whether the instruction is an absolute value or a negation, of either width. */
function movesBits(code: number): boolean {
  return code === 0x8b || code === 0x8c || code === 0x99 || code === 0x9a;
}

/** Whether the instruction converts an integer. */
function isNumber(code: number): boolean {
  return (code >= 0xb2 && code <= 0xb5) || (code >= 0xb7 && code <= 0xba);
}

function see(float: Float): void {
  if (typeof float === 'object') float.seen = true;
}

function weightOf(nodes: readonly Node[]): number {
  return nodes.reduce((sum, { loops }) => sum + (1 << (loopWeightBits * Math.min(loops, loopDepthMax))), 0);
}

const canonicalNan = {
  f32: Uint8Array.of(op.f32Const, 0, 0, 0xc0, 0x7f),
  f64: Uint8Array.of(op.f64Const, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f),
} as const;

/**
 * Writes code that makes the float on top of the stack canonical if it is a NaN; `local` is a scratch local of its
 * width.
 */
export function makeCanonical(writer: CodeWriter, width: FloatWidth, local: number): void {
  writer.indexed(op.localTee, local).copy(canonicalNan[width]);
  writer.indexed(op.localGet, local).indexed(op.localGet, local);
  writer.u8(width === 'f32' ? op.f32Eq : op.f64Eq).u8(op.select);
}
