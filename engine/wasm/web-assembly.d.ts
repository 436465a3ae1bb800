/** The part of the WebAssembly JavaScript API that this folder uses; synchronous, and equal in all supported versions. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: ArrayBufferView<ArrayBuffer>);
  }

  class Instance {
    constructor(module: Module, imports?: Record<string, never>);
    readonly exports: Readonly<Record<string, unknown>>;
  }

  class Memory {
    private constructor();
    readonly buffer: ArrayBuffer;
  }

  class Global {
    private constructor();
    readonly value: unknown;
  }

  class RuntimeError extends Error {}

  function validate(bytes: ArrayBufferView<ArrayBuffer>): boolean;
}
