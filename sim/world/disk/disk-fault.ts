/** Faults of disk operations as rules: which operations, on which files, how often. */
import type { DiskOperation } from '../../../engine/io/disk.ts';
import type { Random } from '../../../engine/io/random.ts';
import type { Latency } from '../core/latency.ts';
import { drawLatency } from '../core/latency.ts';
import type { FaultLog } from '../core/fault-log.ts';

/** The kinds of faults that are rules. */
export type DiskFaultKind =
  'read-error' | 'write-error' | 'sync-error' | 'slow-disk' | 'lying-sync' | 'misdirected-io';

/**
 * One rule. `read-error`: reads fail. `write-error`: writes fail. `sync-error`: syncs fail and drop what they covered.
 * `slow-disk`: operations take longer. `lying-sync`: syncs succeed and do nothing. `misdirected-io`: writes go
 * elsewhere in the file, or reads come from elsewhere.
 */
export interface DiskFault {
  readonly kind: DiskFaultKind;
  /** Only files whose path begins with this. Default: all. */
  readonly pathPrefix?: string;
  /** Only files for whose path this returns true. Default: all. */
  readonly matches?: (path: string) => boolean;
  /** `read-error`: only reads at this offset or beyond it. Default: all. */
  readonly fromOffset?: number;
  /** In how many of how many cases. Default: always. */
  readonly chance?: readonly [numerator: number, denominator: number];
  /** Strikes at most this often. Default: no limit. */
  readonly count?: number;
  /** `slow-disk`: how much longer it takes. */
  readonly delay?: Latency;
  /**
   * `slow-disk`: only these operations (default: all); `misdirected-io`: `read`, `write` or both (default: `write`).
   */
  readonly operations?: readonly DiskOperation[];
  /** `write-error`: how a write fails. Default: `fault`. */
  readonly failure?: 'fault' | 'noSpace';
}

interface Rule {
  readonly fault: DiskFault;
  left: number;
}

/** The rules that act on one disk. */
export class DiskFaults {
  readonly #ledger: FaultLog;
  readonly #host: string;
  readonly #random: Random;
  readonly #rules: Rule[] = [];

  constructor(ledger: FaultLog, host: string, random: Random) {
    this.#ledger = ledger;
    this.#host = host;
    this.#random = random;
  }

  inject(fault: DiskFault): { lift(): void } {
    const rule: Rule = { fault, left: fault.count ?? Infinity };
    this.#rules.push(rule);
    this.#ledger.enter(fault.kind, this.#host, 'injected');
    return { lift: () => this.#drop(rule) };
  }

  clear(): void {
    this.#rules.length = 0;
  }

  /** The fault of this kind that strikes an operation on a file now, at `offset`; undefined if none does. */
  strike(
    kind: DiskFaultKind,
    path: string,
    operation?: DiskOperation,
    offset = Infinity,
  ): DiskFault | undefined {
    if (this.#rules.length === 0) return undefined;
    const concerns = ({ fault }: Rule): boolean =>
      fault.kind === kind &&
      (operation === undefined || (fault.operations ?? ['write']).includes(operation)) &&
      offset >= (fault.fromOffset ?? 0);
    return this.#rules.find((rule) => concerns(rule) && this.#strikes(rule, path))?.fault;
  }

  /** `slow-disk`: how much longer an operation takes, in microseconds. */
  delayUs(operation: DiskOperation, path: string): number {
    if (this.#rules.length === 0) return 0;
    let delayUs = 0;
    for (const rule of this.#rules) {
      const { kind, delay, operations } = rule.fault;
      if (kind !== 'slow-disk' || delay === undefined || operations?.includes(operation) === false) continue;
      if (!this.#strikes(rule, path)) continue;
      delayUs += drawLatency(this.#random, delay);
      this.#ledger.enter('slow-disk', `${this.#host}:${path}`, 'operationDelayed');
    }
    return delayUs;
  }

  #strikes(rule: Rule, path: string): boolean {
    const { pathPrefix, matches, chance } = rule.fault;
    if (rule.left <= 0 || (pathPrefix !== undefined && !path.startsWith(pathPrefix))) return false;
    if (matches !== undefined && !matches(path)) return false;
    if (chance !== undefined && !this.#random.chance(chance[0], chance[1])) return false;
    rule.left -= 1;
    return true;
  }

  #drop(rule: Rule): void {
    const index = this.#rules.indexOf(rule);
    if (index >= 0) this.#rules.splice(index, 1);
  }
}
