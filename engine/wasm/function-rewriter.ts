/**
 * Rewrites one function's code so that it pays for its work.
 *
 * Fuel. Each run of instructions without a branch is charged as a whole at its beginning: the sum of its instructions'
 * prices (`prices.ts`). The fuel is in a local while the function runs, and in a global across calls, so a charge is a
 * subtraction in a register. The fuel is compared with 0 at the beginning of a function and of a turn of a loop, before
 * a run with an expensive instruction, before an instruction whose cost depends on a length, and, in a long function,
 * after each call. Between two comparisons at most one function's plain code runs, and the callers of a deep recursion
 * do not add up.
 *
 * Stack. A function that calls others, or has a large frame, takes its share of the remaining stack budget and passes
 * the rest to its callees.
 *
 * NaN. The standard does not fix which NaN an operation returns. Every result that may be a NaN and may be observed
 * (`nan-flow.ts`) is replaced by the canonical NaN of its width.
 *
 * Memory. A failed growth is recorded, so that the trap that usually follows is reported as a memory failure.
 */
import { CodeWriter } from './code-writer.ts';
import type { BodyEntry, FunctionType, ModuleStructure } from './module.ts';
import { tableElementsMax, valueType } from './module.ts';
import { structureMax } from './module-limits.ts';
import { skipImmediate } from './immediates.ts';
import { ModuleReader } from './module-reader.ts';
import type { Surroundings } from './nan-flow.ts';
import { NanFlow, makeCanonical } from './nan-flow.ts';
import type { Operation } from './opcodes.ts';
import {
  changingNumbers,
  featureOf,
  op,
  operationOf,
  prefixedOperationOf,
  referenceCodes,
  tableNumbers,
  tableSetCode,
  valueTypes,
} from './opcodes.ts';
import type { LengthPrice, TablePrice } from './prices.ts';
import { growthPrice, labelsPrice, localsPrice, uncomparedMax } from './prices.ts';

/**
 * Estimates the native stack of a call, independently of engine, tier and machine: a fixed part, and eight bytes for each
 * parameter, local and operand that may be alive at once.
 */
const fixedBytes = 64;
const slotBytes = 8;

/** Largest frame of a function without calls that is not counted, in bytes: at most one such frame is on the stack. */
export const leafBytesMax = 4096;

/** The estimated frame of a function with this many parameters, locals and operands, in bytes. */
export function frameBytes(slots: number): number {
  return fixedBytes + slots * slotBytes;
}

/** Indices of the globals that the rewriter adds, and the limit of the memory. */
export interface Meters {
  readonly fuel: number;
  readonly stack: number;
  readonly memoryRefused: number;
  /** The memory's maximum in pages: a growth beyond it is refused, and costs no pages. */
  readonly pagesMax: number;
}

/** Properties of the code of all functions together. */
export interface CodeTraits {
  /** Set if the code may change tables or segments, which only a new instance resets. */
  changesTables: boolean;
  /** Set if the engine creates function objects for the code, once for each instance. */
  makesReferences: boolean;
}

interface Frame {
  readonly kind: 'block' | 'loop' | 'if';
  /** Height of the operand stack below the block's parameters. */
  readonly base: number;
  readonly type: FunctionType;
}

/** Bodies up to this size are not compared after calls: the rest of all frames of a recursion is little work. */
const shortBodyBytes = 256;

const nothing: FunctionType = { parameters: [], results: [] };

/** The rewritten body of a function: locals and code, without its length. Throws `ModuleError`. */
export function rewriteFunction(
  module: ModuleStructure,
  body: BodyEntry,
  type: FunctionType,
  globals: Meters,
  resultBlock: number,
  traits: CodeTraits,
): CodeWriter {
  const rewriter = new FunctionRewriter(module, body, type, globals, traits);
  rewriter.run();
  return rewriter.finish(resultBlock);
}

class FunctionRewriter {
  readonly #module: ModuleStructure;
  readonly #body: BodyEntry;
  readonly #type: FunctionType;
  readonly #globals: Meters;
  readonly #traits: CodeTraits;
  readonly #reader: ModuleReader;
  readonly #out: CodeWriter;
  /** The code since the last charge; `#cost` is its price. */
  readonly #run = new CodeWriter(512);
  #cost = 0;
  /**
   * Set if the fuel is compared at the beginning of the run: it begins a turn of a loop, or has an expensive
   * instruction.
   */
  #compared = false;
  /** The price of the function's first run, which the prologue charges; undefined until that run ends. */
  #entryCost: number | undefined;
  readonly #frames: Frame[] = [];
  #height = 0;
  #heightMax = 0;
  #calls = false;
  readonly #fuelLocal: number;
  readonly #stackLocal: number;
  /** Holds lengths and grown sizes. */
  readonly #scratchLocal: number;
  readonly #nans: NanFlow;
  readonly #where: Surroundings = { base: 0, height: 0, loops: 0, at: 0 };
  readonly #localCount: number;
  /** Set if the code after a call is long enough for a comparison of its own. */
  readonly #long: boolean;

  constructor(
    module: ModuleStructure,
    body: BodyEntry,
    type: FunctionType,
    globals: Meters,
    traits: CodeTraits,
  ) {
    this.#module = module;
    this.#body = body;
    this.#type = type;
    this.#globals = globals;
    this.#traits = traits;
    const { start, end } = body.code;
    this.#reader = new ModuleReader(module.bytes, start, end);
    this.#out = new CodeWriter((end - start) * 2 + 64);
    const own = body.locals.flatMap((group) => Array.from({ length: group.count }, () => group.type));
    this.#localCount = type.parameters.length + own.length;
    this.#cost = localsPrice(own.length);
    this.#long = end - start > shortBodyBytes;
    this.#nans = new NanFlow([...type.parameters, ...own], type.parameters.length);
    this.#fuelLocal = this.#localCount;
    this.#stackLocal = this.#localCount + 1;
    this.#scratchLocal = this.#localCount + 2;
    this.#frames.push({ kind: 'block', base: 0, type: { parameters: [], results: type.results } });
  }

  run(): void {
    while (this.#frames.length > 0) this.#instruction();
    this.#reader.finish('the code of a function after its end');
  }

  /** Writes locals, prologue, the code in a block of its own, and epilogue. */
  finish(resultBlock: number): CodeWriter {
    const writer = new CodeWriter(this.#out.length * 2 + 256);
    const sites = this.#nans.sites();
    this.#locals(writer, sites.length > 0);
    const bytes = frameBytes(this.#localCount + this.#heightMax);
    if (this.#calls || bytes > leafBytesMax) this.#enter(writer, bytes);
    else this.#pay(writer.indexed(op.globalGet, this.#globals.fuel), this.#entryCost ?? 0, true);
    writer.u8(op.block);
    if (this.#type.results.length > 1) writer.u32(resultBlock);
    else writer.u8(this.#type.results[0] ?? op.empty);
    // The code's last byte is the `end` of the function, which now closes the block.
    let from = 0;
    for (const { at, width } of sites) {
      writer.append(this.#out, from, at);
      makeCanonical(writer, width, this.#localCount + (width === 'f32' ? 3 : 4));
      from = at;
    }
    writer.append(this.#out, from);
    this.#leave(writer);
    return writer.u8(op.end);
  }

  #locals(writer: CodeWriter, floats: boolean): void {
    const groups = [...this.#body.locals, { count: 3, type: valueTypes.i32 }];
    if (floats) groups.push({ count: 1, type: valueTypes.f32 }, { count: 1, type: valueTypes.f64 });
    writer.u32(groups.length);
    for (const { count, type } of groups) writer.u32(count).u8(type);
  }

  /** Takes the function's share of the stack and its first charge; one comparison detects if either is negative. */
  #enter(writer: CodeWriter, bytes: number): void {
    const { stack, fuel } = this.#globals;
    writer.indexed(op.globalGet, stack).i32Const(bytes).u8(op.i32Sub).indexed(op.localTee, this.#stackLocal);
    writer
      .indexed(op.globalGet, fuel)
      .i32Const(this.#entryCost ?? 0)
      .u8(op.i32Sub);
    writer.indexed(op.localTee, this.#fuelLocal).u8(op.i32Or);
    writer.i32Const(0).u8(op.i32LtS).u8(op.if).u8(op.empty);
    writer.indexed(op.localGet, this.#stackLocal).i32Const(0).u8(op.i32LtS).u8(op.if).u8(op.empty);
    writer.i32Const(-1).indexed(op.globalSet, stack).u8(op.unreachable).u8(op.end);
    this.#leave(writer);
    writer.u8(op.unreachable).u8(op.end);
  }

  /** Subtracts `cost` from the fuel on the stack; with `compare` it traps below 0. */
  #pay(writer: CodeWriter, cost: number, compare: boolean): void {
    if (cost > 0) writer.i32Const(cost).u8(op.i32Sub);
    writer.u8(compare ? op.localTee : op.localSet).u32(this.#fuelLocal);
    if (!compare) return;
    writer.i32Const(0).u8(op.i32LtS).u8(op.if).u8(op.empty);
    this.#leave(writer);
    writer.u8(op.unreachable).u8(op.end);
  }

  /** Stores the fuel in its global before the function ends, calls, or traps for lack of fuel. */
  #leave(writer: CodeWriter): void {
    writer.indexed(op.localGet, this.#fuelLocal).indexed(op.globalSet, this.#globals.fuel);
  }

  /** Ends the run: writes its charge, then its code. */
  #endRun(): void {
    if (this.#entryCost === undefined) this.#entryCost = this.#cost;
    else if (this.#cost > 0 || this.#compared) {
      this.#out.indexed(op.localGet, this.#fuelLocal);
      this.#pay(this.#out, this.#cost, this.#compared);
    }
    this.#nans.runPlaced(this.#out.length);
    this.#out.append(this.#run);
    this.#run.clear();
    this.#cost = 0;
    this.#compared = false;
  }

  #instruction(): void {
    const reader = this.#reader;
    const start = reader.at;
    const code = reader.u8();
    const number = code === op.prefix ? reader.u32() : -1;
    const operation = code === op.prefix ? prefixedOperationOf(number) : operationOf(code);
    if (operation === undefined) {
      return reader.fail(
        `it uses ${number < 0 ? featureOf(code) : `the instruction 0xfc ${number}`}, which is not allowed`,
      );
    }
    // The run that a loop begins pays for each of its turns.
    if (code !== op.loop) this.#charge(operation.fuel);
    this.#note(code, number);
    switch (operation.immediate) {
      case 'block':
        this.#open(operation, code, start);
        break;
      case 'else':
        this.#copy(start);
        this.#else();
        break;
      case 'end':
        this.#copy(start);
        this.#close();
        break;
      case 'label':
      case 'labels':
        this.#branch(operation, start);
        break;
      case 'call':
      case 'callIndirect':
        this.#call(operation, start);
        break;
      default:
        this.#plain(operation, code, number, start);
        break;
    }
    if (this.#height > this.#heightMax) this.#heightMax = this.#height;
  }

  #note(code: number, number: number): void {
    const traits = this.#traits;
    if (code === tableSetCode || changingNumbers.includes(number)) traits.changesTables = true;
    const { init, copy } = tableNumbers;
    if (referenceCodes.includes(code) || number === init || number === copy) traits.makesReferences = true;
  }

  #charge(units: number): void {
    this.#cost += units;
    if (units > uncomparedMax) this.#compared = true;
  }

  #copy(start: number): void {
    this.#run.copy(this.#module.bytes, start, this.#reader.at);
  }

  #open(operation: Operation, code: number, start: number): void {
    const reader = this.#reader;
    const type = this.#blockType();
    const kind = code === op.loop ? 'loop' : code === op.if ? 'if' : 'block';
    if (kind === 'if') this.#drop(1);
    if (kind === 'loop') this.#where.loops += 1;
    this.#shown(type.parameters.length, 0);
    if (this.#frames.length > structureMax.nesting) {
      reader.fail(`blocks nested more than ${structureMax.nesting} deep`);
    }
    this.#frames.push({ kind, base: this.#height, type });
    this.#raise(type.parameters.length);
    this.#copy(start);
    if (kind === 'block') return;
    this.#endRun();
    if (kind !== 'loop') return;
    this.#compared = true;
    this.#charge(operation.fuel);
  }

  #blockType(): FunctionType {
    const reader = this.#reader;
    if (reader.next === op.empty) {
      reader.u8();
      return nothing;
    }
    if (reader.next >= 0x40 && reader.next < 0x80) return { parameters: [], results: [valueType(reader)] };
    const index = reader.s33();
    return this.#module.types[index] ?? reader.fail(`there is no type ${index}`);
  }

  #top(): Frame {
    return this.#frames[this.#frames.length - 1] ?? this.#reader.fail('code after the end of the function');
  }

  #else(): void {
    const { base, type, kind } = this.#top();
    if (kind !== 'if') this.#reader.fail('an else without its if');
    this.#showAll();
    this.#height = base;
    this.#raise(type.parameters.length);
    this.#endRun();
  }

  #close(): void {
    const { base, type, kind } = this.#top();
    this.#showAll();
    if (kind === 'loop') this.#where.loops -= 1;
    this.#frames.pop();
    this.#height = base;
    this.#raise(type.results.length);
    this.#endRun();
  }

  #branch(operation: Operation, start: number): void {
    const reader = this.#reader;
    if (operation.immediate === 'labels') {
      const count = reader.count(structureMax.labelsOfTable, 'labels of a br_table');
      let carried = 0;
      for (let index = 0; index <= count; index++) carried = Math.max(carried, this.#carriedTo(reader.u32()));
      this.#charge(labelsPrice(count) + carried);
    } else {
      this.#charge(this.#carriedTo(reader.u32()));
    }
    this.#drop(operation.pops);
    this.#showAll();
    this.#copy(start);
    this.#endRun();
  }

  /** Number of operands that a branch to this label moves. */
  #carriedTo(label: number): number {
    const frame = this.#frames[this.#frames.length - 1 - label];
    if (frame === undefined) return 0;
    return frame.kind === 'loop' ? frame.type.parameters.length : frame.type.results.length;
  }

  #call(operation: Operation, start: number): void {
    const reader = this.#reader;
    const { types, functions } = this.#module;
    const index = reader.u32();
    if (operation.immediate === 'callIndirect') reader.u32();
    const typeIndex = operation.immediate === 'callIndirect' ? index : (functions[index] ?? -1);
    const { parameters, results } = types[typeIndex] ?? reader.fail(`there is no function or type ${index}`);
    this.#shown(operation.pops + parameters.length, results.length);
    this.#calls = true;
    this.#charge(parameters.length + results.length);
    const run = this.#run;
    run.indexed(op.localGet, this.#stackLocal).indexed(op.globalSet, this.#globals.stack);
    this.#leave(run);
    this.#copy(start);
    this.#pay(run.indexed(op.globalGet, this.#globals.fuel), 0, this.#long);
  }

  #plain(operation: Operation, code: number, number: number, start: number): void {
    const reader = this.#reader;
    if (code === op.return) {
      this.#showAll();
      this.#leave(this.#run);
    }
    const index = operation.immediate === 'index' ? reader.u32() : -1;
    if (operation.immediate === 'indexIndex')
      this.#chargeTable(operation.ofTable, this.#tableOfTwo(number), number);
    else if (index < 0) skipImmediate(reader, operation);
    else this.#chargeTable(operation.ofTable, index, number);
    if (operation.byBytes !== undefined) this.#chargeBytes(operation.byBytes);
    if (code === op.memoryGrow) this.#chargeGrowth();
    this.#copy(start);
    if (code === op.memoryGrow) this.#noteRefusal();
    const where = this.#where;
    where.base = this.#top().base;
    where.height = this.#height;
    where.at = this.#run.length;
    this.#nans.plain(operation, code, index, where);
    this.#drop(operation.pops);
    if (code === op.f32Const || code === op.f64Const) this.#constant(start + 1);
    this.#height += operation.pushes;
    // The code behind it is unreachable and must not be charged to this run.
    if (code === op.return || code === op.unreachable) this.#endRun();
  }

  /** Handles a float constant whose bytes begin at `start`. */
  #constant(start: number): void {
    const { buffer, byteOffset } = this.#module.bytes;
    const length = this.#reader.at - start;
    const view = new DataView(buffer, byteOffset + start, length);
    const value = length === 4 ? view.getFloat32(0, true) : view.getFloat64(0, true);
    if (!Number.isNaN(value)) this.#nans.number(this.#height);
  }

  /** Marks all operands of the enclosing block as observable. */
  #showAll(): void {
    const { base } = this.#top();
    this.#nans.seen(base, base, this.#height);
  }

  /** `taken` operands become observable, and `given` unknown ones take their place. */
  #shown(taken: number, given: number): void {
    this.#nans.seen(this.#top().base, this.#height - taken, this.#height);
    this.#drop(taken);
    this.#raise(given);
  }

  #raise(count: number): void {
    this.#nans.given(this.#height, this.#height + count);
    this.#height += count;
  }

  #drop(count: number): void {
    // Unreachable code may take operands that do not exist.
    this.#height = Math.max(this.#top().base, this.#height - count);
  }

  /** The table that table.init or table.copy writes, given both indices. */
  #tableOfTwo(number: number): number {
    const first = this.#reader.u32();
    const second = this.#reader.u32();
    return number === tableNumbers.init ? second : first;
  }

  /** Charges by the byte length on top of the stack; a length above all bounds costs more than any fuel. */
  #chargeBytes({ base, each }: LengthPrice): void {
    this.#charge(base);
    const run = this.#run;
    run.indexed(op.localTee, this.#scratchLocal);
    run.indexed(op.localGet, this.#fuelLocal).indexed(op.localGet, this.#scratchLocal);
    run.i32Const(3).u8(op.i32ShrU).i32Const(each).u8(op.i32Mul).u8(op.i32Sub);
    this.#pay(run, 0, true);
  }

  /**
   * Charges by the element count on top of the stack. A count that exceeds the table's maximum, or a growth beyond it,
   * does no work and costs only the base.
   */
  #chargeTable(price: TablePrice | undefined, table: number, number: number): void {
    const entry = this.#module.tables[table];
    if (price === undefined || entry === undefined) return;
    const { base, each } = entry.type === valueTypes.funcref ? price.functions : price.others;
    this.#charge(base);
    if (each === 0) return;
    const run = this.#run;
    run.indexed(op.localTee, this.#scratchLocal).indexed(op.localGet, this.#fuelLocal);
    run.indexed(op.localGet, this.#scratchLocal).i32Const(each).u8(op.i32Mul).i32Const(0);
    run.indexed(op.localGet, this.#scratchLocal).i32Const(tableElementsMax(entry));
    if (number === tableNumbers.grow) run.u8(op.prefix).u32(tableNumbers.size).u32(table).u8(op.i32Sub);
    run.u8(op.i32LeU).u8(op.select).u8(op.i32Sub);
    this.#pay(run, 0, true);
  }

  /** Charges for the pages on top of the stack if the memory may have them. */
  #chargeGrowth(): void {
    const { base, granted, each } = growthPrice;
    this.#charge(base);
    const run = this.#run;
    run.indexed(op.localTee, this.#scratchLocal).indexed(op.localGet, this.#fuelLocal);
    run.indexed(op.localGet, this.#scratchLocal).i32Const(each).u8(op.i32Mul).i32Const(granted).u8(op.i32Add);
    run.i32Const(0).indexed(op.localGet, this.#scratchLocal);
    run.i32Const(this.#globals.pagesMax).u8(op.memorySize).u8(0).u8(op.i32Sub);
    run.u8(op.i32LeU).u8(op.select).u8(op.i32Sub);
    this.#pay(run, 0, true);
  }

  #noteRefusal(): void {
    const run = this.#run;
    run.indexed(op.localTee, this.#scratchLocal);
    run.i32Const(-1).u8(op.i32Eq).u8(op.if).u8(op.empty);
    run.i32Const(1).indexed(op.globalSet, this.#globals.memoryRefused);
    run.u8(op.end).indexed(op.localGet, this.#scratchLocal);
  }
}
