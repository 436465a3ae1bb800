/**
 * A client that faults make impatient (`immediate-retry`, `client-disconnect`): its next request, or the one under
 * way, is given up some time after it was sent, unless it is answered by then. What was given up may have been
 * carried out. One that doubts (`late-retry`) asks for what it was answered long ago once more.
 */
import type { Clock } from '../../engine/io/clock.ts';

/** What a client gives up: the connection that its request is on. */
interface Asked {
  close(): void;
}

interface Wish {
  readonly afterUs: number;
  readonly hurried: boolean;
}

export class Impatience {
  /** Requests that were given up, to be asked again at once (`immediate-retry`) or not (`client-disconnect`). */
  readonly givenUp = { 'immediate-retry': 0, 'client-disconnect': 0 };
  readonly #clock: Clock;
  readonly #wishes: Wish[] = [];
  #hurried = false;

  readonly #repeat: (count: number) => void;

  /** `repeat`: asks for that many of its past requests again. */
  constructor(clock: Clock, repeat: (count: number) => void = () => undefined) {
    this.#clock = clock;
    this.#repeat = repeat;
  }

  /** The client asks for `count` of its named transactions once more. */
  doubt(count: number): void {
    this.#repeat(count);
  }

  /** `hurried`: the client asks again at once, where it may. */
  loseIt(afterUs: number, hurried: boolean): void {
    this.#wishes.push({ afterUs, hurried });
  }

  /** The client does not wait before it asks again; true once for each time that it was told so. */
  takeHurry(): boolean {
    const hurried = this.#hurried;
    this.#hurried = false;
    return hurried;
  }

  /** The exchange, cut short by closing the connection when a wish says so. `mayRepeat`: it can be asked again. */
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

/** Requests that clients gave up, by the fault that told them; kinds that told nobody are left out. */
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
