;; Never ends: its fuel does. For both roles, to see what a node does about it.
(module
  (memory (export "memory") 1)
  (func $alloc (export "keyfun_alloc") (export "phase_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "keyfun_route") (export "phase_apply") (param i32 i32 i32 i32) (result i32)
    (loop $forever (br $forever))
    (i32.const 0)))
