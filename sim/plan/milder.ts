/** Milder forms of one fault, for shrinking: shorter, with smaller parameters, nearer to the event that it follows. */
import type { ParameterRange } from '../faults/fault-row.ts';
import { faultKinds } from '../faults/fault-table.ts';
import type { PlanFault } from './plan.ts';

/** A lasting fault is not made shorter than this, in microseconds. */
const lastingUsMin = 1000;

/**
 * The fault in milder forms, one thing changed in each. Every form lies nearer to the mildest one, so a search that
 * keeps replacing a fault by one of its milder forms ends.
 */
export function milderFaults(fault: PlanFault): readonly PlanFault[] {
  return [...shorter(fault), ...withSmallerParameters(fault), ...nearerToItsEvent(fault)];
}

/** Half as long, in whole milliseconds. */
function shorter(fault: PlanFault): readonly PlanFault[] {
  if (!faultKinds[fault.kind].lasting) return [];
  const forUs = Math.max(lastingUsMin, Math.floor(fault.forUs / 2000) * 1000);
  return forUs < fault.forUs ? [{ ...fault, forUs }] : [];
}

function withSmallerParameters(fault: PlanFault): readonly PlanFault[] {
  return Object.entries(faultKinds[fault.kind].params).flatMap(([name, range]) =>
    smallerValues(fault.params[name], range).map((value) => ({
      ...fault,
      params: { ...fault.params, [name]: value },
    })),
  );
}

/** The least value, then one half of the way to it; of words, the first. */
function smallerValues(
  value: number | string | undefined,
  range: ParameterRange,
): readonly (number | string)[] {
  if (range.kind === 'choice') {
    const [first] = range.of;
    return first === undefined || value === first ? [] : [first];
  }
  if (typeof value !== 'number' || value <= range.min) return [];
  const halfway = range.min + Math.floor((value - range.min) / 2);
  return halfway === range.min ? [range.min] : [range.min, halfway];
}

function nearerToItsEvent(fault: PlanFault): readonly PlanFault[] {
  const { when } = fault;
  if (!('event' in when) || when.delayUs === 0) return [];
  const delays = when.delayUs === 1 ? [0] : [0, Math.floor(when.delayUs / 2)];
  return delays.map((delayUs) => ({ ...fault, when: { ...when, delayUs } }));
}
