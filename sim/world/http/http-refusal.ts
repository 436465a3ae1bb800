/** What arrived is no HTTP that is understood, or exceeds a limit; `status` is the answer to it. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
