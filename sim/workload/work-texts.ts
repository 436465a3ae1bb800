/**
 * The texts of the modules that scenarios run. `work-modules.ts` has their bytes, so that no run needs a compiler.
 *
 * `routes` derives a key's route from the key's own bytes, unless the first letter demands a failure: t traps, l never
 * ends, g demands more memory than allowed, p points out of its memory, r refuses. Before that it increments a mark in
 * its memory, and the route shows how many marks it found. On an instance whose memory was not reset after an earlier
 * call, a key would get another route.
 *
 * `marks` is a phase that returns its version number for every value of its input.
 *
 * `wayward` is a phase that fails as the letter in its argument demands (the same five letters); without a letter it
 * returns no values.
 */
const allocator = `(global $top (mut i32) (i32.const 4096))
  (func $alloc (param $n i32) (result i32)
    (global.get $top) (global.set $top (i32.add (global.get $top) (local.get $n))))`;

/** The text of `routes`. */
export const routesText = `(module
  (memory (export "memory") 1)
  ${allocator}
  (export "keyfun_alloc" (func $alloc))
  (func (export "keyfun_route") (param $in i32) (param $len i32) (param $outp i32) (param $outl i32) (result i32)
    (local $marks i32) (local $key i32) (local $first i32) (local $bytes i32)
    (local.set $marks (i32.load (i32.const 16)))
    (i32.store (i32.const 16) (i32.add (local.get $marks) (i32.const 1)))
    (local.set $key (i32.add (i32.add (local.get $in) (i32.const 8)) (i32.load (local.get $in))))
    (local.set $first (i32.load8_u (local.get $key)))
    (if (i32.eq (local.get $first) (i32.const 0x74)) (then (unreachable)))
    (if (i32.eq (local.get $first) (i32.const 0x6c)) (then (loop $forever (br $forever))))
    (if (i32.eq (local.get $first) (i32.const 0x67))
      (then (if (i32.lt_s (memory.grow (i32.const 60000)) (i32.const 0)) (then (unreachable)))))
    (if (i32.eq (local.get $first) (i32.const 0x70))
      (then (i32.store (local.get $outp) (i32.const -16)) (i32.store (local.get $outl) (i32.const 32)) (return (i32.const 0))))
    (i32.store8 (i32.sub (local.get $key) (i32.const 1)) (local.get $marks))
    (i32.store (local.get $outp) (i32.sub (local.get $key) (i32.const 1)))
    (local.set $bytes (i32.add (i32.sub (i32.add (local.get $in) (local.get $len)) (local.get $key)) (i32.const 1)))
    (i32.store (local.get $outl) (select (i32.const 3) (local.get $bytes) (i32.gt_u (local.get $bytes) (i32.const 3))))
    (i32.eq (local.get $first) (i32.const 0x72))))`;

/** The text of `marks` in one version. */
export function marksText(version: number): string {
  return `(module
  (memory (export "memory") 1)
  ${allocator}
  (export "phase_alloc" (func $alloc))
  (func (export "phase_apply") (param $in i32) (param $len i32) (param $outp i32) (param $outl i32) (result i32)
    (local $count i32) (local $head i32)
    (local.set $head (i32.load8_u (local.get $in)))
    (local.set $count (select (i32.load8_u offset=1 (local.get $in)) (i32.and (local.get $head) (i32.const 31))
      (i32.eq (local.get $head) (i32.const 0x98))))
    (i32.store8 (i32.const 2048) (i32.const 0x98))
    (i32.store8 (i32.const 2049) (local.get $count))
    (memory.fill (i32.const 2050) (i32.const ${version}) (local.get $count))
    (i32.store (local.get $outp) (select (i32.const 2048) (i32.const 2049) (i32.gt_u (local.get $count) (i32.const 23))))
    (i32.store (local.get $outl) (i32.add (local.get $count)
      (select (i32.const 2) (i32.const 1) (i32.gt_u (local.get $count) (i32.const 23)))))
    (if (i32.le_u (local.get $count) (i32.const 23))
      (then (i32.store8 (i32.const 2049) (i32.or (i32.const 0x80) (local.get $count)))))
    (i32.const 0)))`;
}

/**
 * The text of `wayward`. An input with a one-letter argument begins with {"arg": "l"} in CBOR: a1 63 61 72 67 61 6c.
 */
export const waywardText = `(module
  (memory (export "memory") 1)
  ${allocator}
  (export "phase_alloc" (func $alloc))
  (func (export "phase_apply") (param $in i32) (param $len i32) (param $outp i32) (param $outl i32) (result i32)
    (local $at i32) (local $letter i32)
    (local.set $at (i32.add (local.get $in)
      (select (i32.const 2) (i32.const 1) (i32.eq (i32.load8_u (local.get $in)) (i32.const 0x98)))))
    (if (i32.and (i32.eq (i32.load16_u (local.get $at)) (i32.const 0x63a1))
        (i32.eq (i32.load8_u offset=5 (local.get $at)) (i32.const 0x61)))
      (then (local.set $letter (i32.load8_u offset=6 (local.get $at)))))
    (if (i32.eq (local.get $letter) (i32.const 0x74)) (then (unreachable)))
    (if (i32.eq (local.get $letter) (i32.const 0x6c)) (then (loop $forever (br $forever))))
    (if (i32.eq (local.get $letter) (i32.const 0x67))
      (then (if (i32.lt_s (memory.grow (i32.const 60000)) (i32.const 0)) (then (unreachable)))))
    (if (i32.eq (local.get $letter) (i32.const 0x70))
      (then (i32.store (local.get $outp) (i32.const -16)) (i32.store (local.get $outl) (i32.const 32)) (return (i32.const 0))))
    (i32.store8 (i32.const 2048) (i32.const 0x80))
    (i32.store (local.get $outp) (i32.const 2048))
    (i32.store (local.get $outl) (i32.const 1))
    (i32.eq (local.get $letter) (i32.const 0x72))))`;

/** How many versions of `marks` there are. */
export const versionCount = 3;
