/** Builds modules for tests from their text. */
import wabt from 'wabt';

import { prepareModule } from './prepare.ts';
import type { WasmLimits } from './module-limits.ts';
import { wasmLimitDefaults } from './module-limits.ts';
import { Caller } from './instance.ts';
import type { Role } from './roles.ts';

const toolkit = await wabt();

/** The binary form of a text. */
export function wasmOf(text: string): Buffer<ArrayBuffer> {
  const parsed = toolkit.parseWat('module.wat', text);
  try {
    return Buffer.from(Uint8Array.from(parsed.toBinary({}).buffer).buffer);
  } finally {
    parsed.destroy();
  }
}

/** A phase whose `phase_apply` has this body (parameters: $in $len $outp $outl), with further fields of the module. */
export function phaseText(body: string, fields = '', memory = '(memory (export "memory") 1)'): string {
  return `(module ${memory}
    (global $top (mut i32) (i32.const 1024))
    ${fields}
    (func (export "phase_alloc") (param $n i32) (result i32)
      (global.get $top)
      (global.set $top (i32.add (global.get $top) (local.get $n))))
    (func $apply (export "phase_apply") (param $in i32) (param $len i32) (param $outp i32) (param $outl i32) (result i32)
      ${body}))`;
}

/** Code that returns the i32 of `expression` as an output of four bytes. */
export function answering(expression: string): string {
  return `(i32.store (i32.const 512) ${expression})
    (i32.store (local.get $outp) (i32.const 512)) (i32.store (local.get $outl) (i32.const 4)) (i32.const 0)`;
}

/** A caller of a prepared module. */
export function callerOf(text: string, limits: Partial<WasmLimits> = {}, role: Role = 'phase'): Caller {
  const whole = { ...wasmLimitDefaults, ...limits };
  const prepared = prepareModule(wasmOf(text), whole);
  return new Caller(
    new WebAssembly.Module(Buffer.from(prepared.bytes)),
    role,
    prepared.resettable,
    whole.fuelMax,
  );
}

/** The i32 that a phase outputs. */
export function valueOf(caller: Caller, input: Uint8Array = Buffer.alloc(0)): number {
  return Buffer.from(caller.call(input)).readInt32LE(0);
}
