/**
 * A fault of a module and its position. Thrown by the parts of the rewriter; `prepare.ts` turns it into `BadRequest`.
 */
export class ModuleError extends Error {
  override readonly name = 'ModuleError';
  /** Offset in the module's bytes at which the fault shows. */
  readonly offset: number;

  constructor(problem: string, offset: number) {
    super(problem);
    this.offset = offset;
  }
}
