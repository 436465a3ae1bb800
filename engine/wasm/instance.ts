/**
 * Calls a prepared module, each time as if on a fresh instance. Creating an instance takes the engine tens of
 * microseconds. Therefore an instance is reset and reused if possible: its mutable globals, and its memory unless that
 * grew. No call can observe an earlier one.
 *
 * Calls do not nest: a module has no imports that it could call.
 */
import { LockstepError } from '../base/errors.ts';
import { stackBytesMax } from './module-limits.ts';
import { ownExports } from './prepare.ts';
import type { Role } from './roles.ts';
import { roleExports } from './roles.ts';

/** The cost of a call. */
export interface CallCost {
  /** Units of fuel used; the whole fuel if the call ran out of it. */
  readonly fuel: number;
}

/**
 * How a call failed: `trap` (including the stack); `fuel`; `memory`; `result` (a pointer or length outside its memory);
 * `refused` (the module returned a value other than 0).
 */
export type CallFailure = 'trap' | 'fuel' | 'memory' | 'result' | 'refused';

/** A failed call. Codes: `WasmTrap`, `WasmOutOfFuel`, `WasmMemoryLimit`. */
export class CallError extends LockstepError {
  readonly failure: CallFailure;

  constructor(failure: CallFailure, detail: string) {
    super(codeOf(failure), detail);
    this.failure = failure;
  }
}

type Begin = (fuel: number, stack: number) => void;
type Allocate = (length: number) => number;
type Apply = (input: number, length: number, outPointer: number, outLength: number) => number;

/** The exports of one role, and the rewriter's own. */
interface Handles {
  readonly begin: Begin;
  readonly allocate: Allocate;
  readonly apply: Apply;
  readonly memory: WebAssembly.Memory;
  readonly fuel: WebAssembly.Global;
  readonly stack: WebAssembly.Global;
  readonly memoryRefused: WebAssembly.Global;
}

/** An instance between two calls, and its initial memory. */
interface Pooled {
  readonly handles: Handles;
  /** The initial memory up to its last byte that is not 0. */
  readonly start: Uint8Array;
  /** The memory's buffer; a growth replaces it. */
  readonly buffer: ArrayBuffer;
  readonly bytes: Uint8Array;
}

/** Most bytes of a module's error text that are reported. */
const refusalBytesMax = 512;
/** Bytes for an output's pointer and length. */
const slotBytes = 8;

/** Calls one role of one module. */
export class Caller {
  readonly #module: WebAssembly.Module;
  readonly #role: Role;
  readonly #resettable: boolean;
  readonly #fuelMax: number;
  #pooled: Pooled | undefined;
  #fuel = 0;

  constructor(module: WebAssembly.Module, role: Role, resettable: boolean, fuelMax: number) {
    this.#module = module;
    this.#role = role;
    this.#resettable = resettable;
    this.#fuelMax = fuelMax;
  }

  /** Fuel used by the last call, in units. */
  get fuelUsed(): number {
    return this.#fuel;
  }

  /** The output for an input, in bytes of its own. Throws `CallError`. */
  call(input: Uint8Array): Uint8Array {
    const instance = this.#pooled ?? this.#instantiate();
    // An instance that a failure keeps from being reset is not reused.
    this.#pooled = undefined;
    const { handles } = instance;
    try {
      handles.begin(this.#fuelMax, stackBytesMax);
      return this.#exchange(handles, input);
    } catch (error) {
      throw this.#failureOf(handles, error);
    } finally {
      const left = handles.fuel.value;
      this.#fuel = typeof left === 'number' && left >= 0 ? this.#fuelMax - left : this.#fuelMax;
      if (this.#resettable) this.#putBack(instance);
    }
  }

  #exchange(handles: Handles, input: Uint8Array): Uint8Array {
    const { allocate, apply, memory } = handles;
    const { length } = input;
    const at = allocate(length) >>> 0;
    within(memory, at, length, 'the input');
    // `alloc` may have grown the memory, which replaces its buffer.
    const slot = allocate(slotBytes) >>> 0;
    within(memory, slot, slotBytes, 'the output’s place');
    new Uint8Array(memory.buffer).set(input, at);
    const result = apply(at, length, slot, slot + 4);
    const view = new DataView(memory.buffer);
    within(memory, slot, slotBytes, 'the output’s place');
    const outAt = view.getUint32(slot, true);
    const outLength = view.getUint32(slot + 4, true);
    if (result === 0) {
      within(memory, outAt, outLength, 'the output');
      return new Uint8Array(memory.buffer).slice(outAt, outAt + outLength);
    }
    const textLength = Math.min(outLength, refusalBytesMax);
    within(memory, outAt, textLength, 'the error text');
    const text = new TextDecoder('utf-8').decode(new Uint8Array(memory.buffer, outAt, textLength));
    throw new CallError('refused', `the module answered ${result}: ${text}`);
  }

  #failureOf(handles: Handles, error: unknown): unknown {
    const engineTrap = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
    if (!engineTrap && !(error instanceof CallError)) return error;
    const below = (global: WebAssembly.Global): boolean =>
      typeof global.value === 'number' && global.value < 0;
    if (below(handles.fuel))
      return new CallError('fuel', `more than ${this.#fuelMax} units of fuel were used`);
    if (below(handles.stack)) return new CallError('trap', 'its calls nest too deeply');
    if (handles.memoryRefused.value === 1) {
      return new CallError('memory', 'it asked for more memory than is allowed, and failed without');
    }
    return error instanceof CallError ? error : new CallError('trap', `it trapped: ${trapWords(error)}`);
  }

  #instantiate(): Pooled {
    const { exports } = instantiate(this.#module);
    const names = roleExports[this.#role];
    const memory = exports['memory'] as WebAssembly.Memory;
    const handles: Handles = {
      begin: exports[ownExports.begin] as Begin,
      allocate: exports[names.alloc] as Allocate,
      apply: exports[names.apply] as Apply,
      memory,
      fuel: exports[ownExports.fuel] as WebAssembly.Global,
      stack: exports[ownExports.stack] as WebAssembly.Global,
      memoryRefused: exports[ownExports.memoryRefused] as WebAssembly.Global,
    };
    const { buffer } = memory;
    const bytes = new Uint8Array(buffer);
    const start = this.#resettable ? bytes.slice(0, usedLength(bytes)) : new Uint8Array();
    return { handles, start, buffer, bytes };
  }

  #putBack(instance: Pooled): void {
    const { handles, start, buffer, bytes } = instance;
    if (handles.memory.buffer !== buffer) return;
    bytes.set(start);
    bytes.fill(0, start.length);
    this.#pooled = instance;
  }
}

/** A new instance. Throws `Overloaded` if the machine has no memory for it. */
function instantiate(module: WebAssembly.Module): WebAssembly.Instance {
  try {
    return new WebAssembly.Instance(module);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new LockstepError('Overloaded', 'this node has no memory left for another Wasm instance', {
      cause: error,
    });
  }
}

/** Throws `CallError` unless the bytes at `pointer` lie in the memory. */
function within(memory: WebAssembly.Memory, pointer: number, length: number, what: string): void {
  const { byteLength } = memory.buffer;
  if (pointer + length <= byteLength) return;
  throw new CallError(
    'result',
    `${what} (${length} bytes at ${pointer}) lies outside its memory of ${byteLength} bytes`,
  );
}

function usedLength(bytes: Uint8Array): number {
  let length = bytes.length;
  while (length > 0 && bytes[length - 1] === 0) length -= 1;
  return length;
}

/** Normalizes trap messages, which differ between engine versions, to those of the standard's tests. */
function trapWords(error: unknown): string {
  const said = error instanceof Error ? error.message : '';
  const words: readonly (readonly [RegExp, string])[] = [
    [/unreachable/, 'unreachable'],
    [/memory access|out of bounds memory/, 'out of bounds memory access'],
    [/divide by zero|remainder by zero/, 'integer divide by zero'],
    [/divide result|unrepresentable/, 'integer overflow'],
    [/float|truncat/, 'invalid conversion to integer'],
    [/signature|type mismatch/, 'indirect call type mismatch'],
    [/table|element|null function/, 'undefined element'],
    [/stack/, 'stack exhausted'],
  ];
  return words.find(([pattern]) => pattern.test(said))?.[1] ?? 'trap';
}

function codeOf(failure: CallFailure): 'WasmTrap' | 'WasmOutOfFuel' | 'WasmMemoryLimit' {
  switch (failure) {
    case 'fuel':
      return 'WasmOutOfFuel';
    case 'memory':
      return 'WasmMemoryLimit';
    case 'trap':
    case 'result':
    case 'refused':
      return 'WasmTrap';
  }
}
