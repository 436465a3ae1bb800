/** One fault of a plan, without the moment at which it strikes. */
import { present } from '../../engine/base/assert.ts';

/** One fault of a plan, as its row sees it. */
export interface Fault {
  /** Keeps its value through shrinking: `f3`. */
  readonly id: string;
  readonly kind: string;
  /** Names of hosts; which and how many, the kind's aim says. */
  readonly targets: readonly string[];
  /** How long it lasts, in microseconds; 0 if it is over at once. */
  readonly forUs: number;
  readonly params: Readonly<Record<string, number | string>>;
}

/** The one target of a fault that aims at a node or a client. */
export function targetOf({ targets }: Pick<Fault, 'targets'>): string {
  return present(targets[0], 'the target of a fault');
}
