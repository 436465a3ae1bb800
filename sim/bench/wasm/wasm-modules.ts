/** The modules of the metering benchmark, as text: each exports `work` beside the phase role. */

const allocator = `(global $top (mut i32) (i32.const 1024))
  (func (export "phase_alloc") (param $n i32) (result i32)
    (global.get $top) (global.set $top (i32.add (global.get $top) (local.get $n))))
  (func (export "phase_apply") (param $in i32) (param $len i32) (param $outp i32) (param $outl i32) (result i32)
    (i32.store (local.get $outp) (local.get $in)) (i32.store (local.get $outl) (local.get $len)) (i32.const 0))`;

function moduleOf(pages: number, fields: string): string {
  return `(module (memory (export "memory") ${pages}) ${allocator} ${fields})`;
}

/** Returns its input: the cost of a call itself. */
export const echoText = moduleOf(1, '');

/** FNV-1a over 64 KiB. */
const fnv = `(func (export "work") (result i32) (local $i i32) (local $h i32)
  (local.set $h (i32.const 0x811c9dc5))
  (loop $next
    (local.set $h (i32.mul (i32.xor (local.get $h) (i32.load8_u (local.get $i))) (i32.const 16777619)))
    (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 65536))))
  (local.get $h))`;

/** The primes below 200,000. */
const sieve = `(func (export "work") (result i32) (local $i i32) (local $j i32) (local $n i32)
  (memory.fill (i32.const 2048) (i32.const 0) (i32.const 200000))
  (local.set $i (i32.const 2))
  (loop $outer
    (if (i32.eqz (i32.load8_u offset=2048 (local.get $i)))
      (then
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (local.set $j (i32.shl (local.get $i) (i32.const 1)))
        (block $done
          (loop $inner
            (br_if $done (i32.ge_u (local.get $j) (i32.const 200000)))
            (i32.store8 offset=2048 (local.get $j) (i32.const 1))
            (local.set $j (i32.add (local.get $j) (local.get $i)))
            (br $inner)))))
    (br_if $outer (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 200000))))
  (local.get $n))`;

const fib = `(func $fib (param $n i32) (result i32)
  (if (result i32) (i32.lt_s (local.get $n) (i32.const 2))
    (then (local.get $n))
    (else (i32.add (call $fib (i32.sub (local.get $n) (i32.const 1))) (call $fib (i32.sub (local.get $n) (i32.const 2)))))))
  (func (export "work") (result i32) (call $fib (i32.const 25)))`;

/** The product of two matrices of 64 by 64 doubles. */
const matrix = `(func (export "work") (result i32) (local $i i32) (local $j i32) (local $k i32) (local $s f64)
  (local.set $i (i32.const 0))
  (loop $rows
    (local.set $j (i32.const 0))
    (loop $columns
      (local.set $k (i32.const 0))
      (local.set $s (f64.const 0))
      (loop $sum
        (local.set $s (f64.add (local.get $s)
          (f64.mul
            (f64.load offset=4096 (i32.shl (i32.add (i32.shl (local.get $i) (i32.const 6)) (local.get $k)) (i32.const 3)))
            (f64.load offset=36864 (i32.shl (i32.add (i32.shl (local.get $k) (i32.const 6)) (local.get $j)) (i32.const 3))))))
        (br_if $sum (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 1))) (i32.const 64))))
      (f64.store offset=69632 (i32.shl (i32.add (i32.shl (local.get $i) (i32.const 6)) (local.get $j)) (i32.const 3)) (local.get $s))
      (br_if $columns (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const 64))))
    (br_if $rows (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 64))))
  (i32.const 0))`;

/** The modules with real work. */
export const workloads: readonly { readonly name: string; readonly text: string }[] = [
  { name: 'fnv over 64 KiB', text: moduleOf(2, fnv) },
  { name: 'sieve of 200,000', text: moduleOf(4, sieve) },
  { name: 'fib(25), by calls', text: moduleOf(1, fib) },
  { name: 'matrix product 64', text: moduleOf(2, matrix) },
];

/** A module of many functions, to time the rewriter. */
export function largeText(functions: number): string {
  const bodies = Array.from({ length: functions }, (_, index) =>
    sieve.replace('(export "work")', `$f${index}`),
  );
  return moduleOf(4, bodies.join('\n'));
}
