/** What is wrong with a module, and where. Thrown by the rewriter's parts; `prepare.ts` turns it into `BadRequest`. */
export class ModuleError extends Error {
  override readonly name = 'ModuleError';
  /** Byte of the module at which it shows. */
  readonly offset: number;

  constructor(problem: string, offset: number) {
    super(problem);
    this.offset = offset;
  }
}
