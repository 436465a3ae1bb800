/** The received bytes are not valid HTTP, or exceed a limit; `status` is the status of the answer. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
