/**
 * A client's impatience, caused by faults. With `immediate-retry` and `client-disconnect` it gives up its next request,
 * or the one under way, some time after it sent it, unless the answer comes before. What it gave up may have been
 * carried out. With `late-retry` it retries transactions that were answered long ago.
 */
import type { Clock } from '../../engine/io/clock.ts';

/** What a client gives up: the connection that carries its request. */
interface Asked {
  close(): void;
}

interface Wish {
  readonly afterUs: number;
  readonly hurried: boolean;
}

/** The impatience of one client. */
export class Impatience {
  /** How many requests were given up: to be retried at once (`immediate-retry`), or not (`client-disconnect`). */
  readonly givenUp = { 'immediate-retry': 0, 'client-disconnect': 0 };
  readonly #clock: Clock;
  readonly #wishes: Wish[] = [];
  #hurried = false;

  readonly #repeat: (count: number) => void;

  /** `repeat` retries that many of the client's past requests. */
  constructor(clock: Clock, repeat: (count: number) => void = () => undefined) {
    this.#clock = clock;
    this.#repeat = repeat;
  }

  /** The client retries `count` of its transactions that carry an idempotency key. */
  doubt(count: number): void {
    this.#repeat(count);
  }

  /**
   * The client gives up a request `afterUs` after sending it. `hurried`: it retries at once, if it may retry at all.
   */
  loseIt(afterUs: number, hurried: boolean): void {
    this.#wishes.push({ afterUs, hurried });
  }

  /** Whether the client retries without waiting; returns true once for each request given up in a hurry. */
  takeHurry(): boolean {
    const hurried = this.#hurried;
    this.#hurried = false;
    return hurried;
  }

  /**
   * The exchange, cut short by closing the connection if a fault demands it. `mayRepeat`: the client may retry the
   * request.
   */
  over<Result>(connection: Asked, exchange: Promise<Result>, mayRepeat: boolean): Promise<Result> {
    const wish = this.#wishes.length === 0 ? undefined : this.#takeWish(mayRepeat);
    return wish === undefined ? exchange : this.#cutShort(connection, exchange, wish);
  }

  #takeWish(mayRepeat: boolean): Wish | undefined {
    const at = this.#wishes.findIndex(({ hurried }) => !hurried || mayRepeat);
    return at < 0 ? undefined : this.#wishes.splice(at, 1)[0];
  }

  async #cutShort<Result>(connection: Asked, exchange: Promise<Result>, wish: Wish): Promise<Result> {
    const timer = this.#clock.after(wish.afterUs, () => {
      this.givenUp[wish.hurried ? 'immediate-retry' : 'client-disconnect'] += 1;
      this.#hurried = wish.hurried;
      connection.close();
    });
    const result = await exchange;
    timer.cancel();
    return result;
  }
}

/** How many requests clients gave up, by the kind of the fault; kinds without any are left out. */
export function sumGivenUp(
  all: readonly Impatience[],
): Readonly<Partial<Record<'immediate-retry' | 'client-disconnect', number>>> {
  const sum = (kind: 'immediate-retry' | 'client-disconnect'): number =>
    all.reduce((most, { givenUp }) => most + givenUp[kind], 0);
  const [again, left] = [sum('immediate-retry'), sum('client-disconnect')];
  return {
    ...(again === 0 ? {} : { 'immediate-retry': again }),
    ...(left === 0 ? {} : { 'client-disconnect': left }),
  };
}
