/** Faults of disk operations as rules: which operations, on which files, how often. */
import type { DiskOperation } from '../../../engine/io/disk.ts';
import type { Random } from '../../../engine/io/random.ts';
import type { Latency } from '../core/latency.ts';
import { drawLatency } from '../core/latency.ts';
import type { FaultLog } from '../core/fault-log.ts';

export type DiskFaultKind = 'FD1' | 'FD2' | 'FD4' | 'FD5' | 'FD8' | 'FD10';

/**
 * FD1 reads fail; FD2 writes fail; FD4 syncs fail and drop what they covered; FD5 operations take longer; FD8 syncs
 * lie; FD10 writes go elsewhere in the file, or reads come from elsewhere.
 */
export interface DiskFault {
  readonly kind: DiskFaultKind;
  /** Only files whose path begins so. Default: all. */
  readonly pathPrefix?: string;
  /** Only files whose path this holds for. Default: all. */
  readonly matches?: (path: string) => boolean;
  /** In how many of how many cases. Default: always. */
  readonly chance?: readonly [numerator: number, denominator: number];
  /** Strikes at most so often. Default: no limit. */
  readonly count?: number;
  /** FD5: how much longer it takes. */
  readonly delay?: Latency;
  /** FD5: only these operations (default: all); FD10: `read`, `write` or both (default: `write`). */
  readonly operations?: readonly DiskOperation[];
  /** FD2: how a write fails. Default: `fault`. */
  readonly failure?: 'fault' | 'noSpace';
}

interface Rule {
  readonly fault: DiskFault;
  left: number;
}

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

  /** The fault of this kind that strikes an operation on a file now, if any. */
  strike(kind: DiskFaultKind, path: string, operation?: DiskOperation): DiskFault | undefined {
    if (this.#rules.length === 0) return undefined;
    const concerns = ({ fault }: Rule): boolean =>
      fault.kind === kind && (operation === undefined || (fault.operations ?? ['write']).includes(operation));
    return this.#rules.find((rule) => concerns(rule) && this.#strikes(rule, path))?.fault;
  }

  /** FD5. How much longer an operation takes. */
  delayUs(operation: DiskOperation, path: string): number {
    if (this.#rules.length === 0) return 0;
    let delayUs = 0;
    for (const rule of this.#rules) {
      const { kind, delay, operations } = rule.fault;
      if (kind !== 'FD5' || delay === undefined || operations?.includes(operation) === false) continue;
      if (!this.#strikes(rule, path)) continue;
      delayUs += drawLatency(this.#random, delay);
      this.#ledger.enter('FD5', `${this.#host}:${path}`, 'operationDelayed');
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
