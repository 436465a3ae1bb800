;; Keeps a user's keys together: `anna:profile` and `anna:orders:7` are routed by `anna`, so one set of replicas has them
;; all. The bucket does not count: the user's keys of all buckets that route by this module are together.
;;
;; Input: u32 length of the bucket | bucket | u32 length of the key | key (little-endian). Output: the bytes to be hashed.
(module
  (memory (export "memory") 1)
  (global $top (mut i32) (i32.const 1024))

  (func (export "keyfun_alloc") (param $length i32) (result i32)
    (global.get $top)
    (global.set $top (i32.add (global.get $top) (local.get $length)))
    (if (i32.gt_u (global.get $top) (i32.mul (memory.size) (i32.const 65536)))
      (then (if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then (unreachable))))))

  (func (export "keyfun_route") (param $in i32) (param $length i32) (param $outp i32) (param $outl i32) (result i32)
    (local $key i32) (local $at i32) (local $end i32)
    (local.set $end (i32.add (local.get $in) (local.get $length)))
    ;; The key stands after two lengths and the bucket.
    (local.set $key (i32.add (i32.add (local.get $in) (i32.const 8)) (i32.load (local.get $in))))
    (local.set $at (local.get $key))
    (block $found
      (loop $next
        (br_if $found (i32.ge_u (local.get $at) (local.get $end)))
        (br_if $found (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x3a)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (i32.store (local.get $outp) (local.get $key))
    (i32.store (local.get $outl) (i32.sub (local.get $at) (local.get $key)))
    (i32.const 0)))
