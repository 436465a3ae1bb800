/** When faults may have changed what clients were answered: from their strike until a while after they were over. */
import type { Span } from './stalls.ts';
import type { Strike } from './world-run.ts';

/** Connections, failure detectors and hints need this long after a fault, in microseconds. */
const afterUs = 5_000_000;
/** Kinds whose effects last until the calm, or longer. */
const lasting: readonly string[] = [
  'permanent-node-loss',
  'membership-change',
  'disk-wipe',
  'build-change',
  'clock-skew',
  'clock-jump',
  'node-standby',
];
/** Kinds of which no operation of other clients hears. */
const harmless: readonly string[] = ['unauthorized-request', 'double-start'];

/** Tells whether an operation may have met a fault of one run. */
export class Disturbances {
  readonly #spans: readonly Span[];
  /** The first instant at which a disk was lost; `Infinity`: none was. */
  readonly wipedUs: number;
  readonly hasClockFaults: boolean;

  /** `stalls`: when the machine was too busy. */
  constructor(strikes: readonly Strike[], stalls: readonly Span[] = []) {
    const ofFaults = strikes
      .filter(({ fault }) => !harmless.includes(fault.kind))
      .map(({ fault, atUs }) => {
        const forUs = lasting.includes(fault.kind) ? Infinity : fault.forUs + extraUsOf(fault.params);
        return [atUs, atUs + forUs + afterUs] as const;
      });
    this.#spans = [...ofFaults, ...stalls];
    const wipes = strikes.filter(({ fault }) => fault.kind === 'disk-wipe').map(({ atUs }) => atUs);
    this.wipedUs = Math.min(Infinity, ...wipes);
    this.hasClockFaults = strikes.some(({ fault }) => fault.kind.startsWith('clock-'));
  }

  /** Whether something of a fault lay between the two instants. */
  touches(fromUs: number, toUs: number): boolean {
    return this.#spans.some(([since, until]) => since <= toUs && fromUs <= until);
  }
}

/** Late messages of a fault come after it is over. */
function extraUsOf(params: Readonly<Record<string, number | string>>): number {
  const { delayMsMax, stepMs, afterUs: givenUpUs } = params;
  return 1000 * Number(delayMsMax ?? 0) + 10_000 * Number(stepMs ?? 0) + Number(givenUpUs ?? 0);
}
