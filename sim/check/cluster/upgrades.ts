/**
 * `upgrade-finality` (INV42): an upgrade is finalized at every member or refused.
 *
 * - A call that finalizes succeeds only if every member runs a build that speaks the version. If one member was down, or
 *   ran an older build, from the call to its answer, the call is refused and changes nothing.
 * - Once a call has succeeded, no build starts that speaks less, whatever happens to the process or the power.
 * - After the calm all members state the same minimum: that of the last success before, or, if every call was refused,
 *   the one from the start.
 * - With every member on today's build, an operator who repeats the call finalizes, and all members state today's version.
 *
 * Skipped: starts on disks that may forget, and the value (not the agreement) where a call has no definite answer.
 */
import type { UpgradeEvidence, VersionStatement } from '../../evidence/upgrades.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** The row of `upgrade-finality`. */
export const upgradeFinalityRow = invariant({
  name: 'upgrade-finality',
  code: 'INV42',
  promise: 'an upgrade is finalized at every member or refused',
  gravity: 'data',
  breach: 'a build serves that cannot read what the others write, or an operator has no way back',
  needs: [],
  check: ({ upgrades }: { readonly upgrades: UpgradeEvidence | undefined }) =>
    upgrades === undefined ? undefined : checkUpgrades(upgrades),
});

/** Checks the calls, the starts of older builds, and what nodes stated after the calm. */
export function checkUpgrades(upgrades: UpgradeEvidence): CheckReport {
  const tally = new Tally('upgrade-finality');
  const { calls, last } = upgrades;
  for (const { id, node, outcome, lacking, wanted, detail, completedUs } of calls) {
    const isRight = lacking.length === 0 || (outcome !== 'finalized' && outcome !== 'partly');
    tally.compare(isRight, completedUs, () => {
      return `${id}: ${node} finalized version ${wanted} although ${lacking.join(' ')} lacked it all the time: ${detail}`;
    });
  }
  compareStarts(upgrades, tally);
  compareSettled(upgrades, tally);
  if (last !== undefined) {
    tally.compare(last.outcome === 'finalized', last.completedUs, () => {
      return `after the calm every member runs today's build, and ${last.node} does not finalize: ${last.detail}`;
    });
    if (last.outcome === 'finalized') compareAll(upgrades.final, upgrades.newest, 'finalized', tally);
  }
  return tally.report();
}

function compareStarts({ starts, calls, forgetful }: UpgradeEvidence, tally: Tally): void {
  for (const { node, atUs, version } of starts) {
    if (forgetful.includes(node)) {
      tally.skip();
      continue;
    }
    const ended = calls.find(
      ({ outcome, minimum = 0, completedUs }) =>
        outcome === 'finalized' && minimum > version && completedUs < atUs,
    );
    tally.compare(ended === undefined, atUs, () => {
      return `${node} started with a build that speaks version ${version}, after ${ended?.id} had finalized version ${ended?.minimum}`;
    });
  }
}

function compareSettled({ settled, calls, first, forgetful }: UpgradeEvidence, tally: Tally): void {
  // An operator who restarts all members first may call only after they have stated it.
  const before = calls.filter(({ invokedUs }) => settled.some(({ atUs }) => invokedUs <= atUs));
  const isOver = (completedUs: number): boolean => settled.every(({ atUs }) => completedUs <= atUs);
  const done = before.filter(({ outcome, completedUs }) => outcome === 'finalized' && isOver(completedUs));
  const isOpen = before.some(({ outcome }) => outcome === 'partly' || outcome === 'unknown');
  // Some members state it before a call that finalizes meanwhile, and some after.
  if (before.some(({ outcome, completedUs }) => outcome === 'finalized' && !isOver(completedUs)))
    return tally.skip();
  const stated = settled.find(({ minimum }) => minimum !== undefined)?.minimum;
  const least = Math.max(first, ...done.map(({ minimum }) => minimum ?? 0));
  if (isOpen || forgetful.length > 0) {
    compareAll(settled, Math.max(stated ?? least, least), 'settled', tally);
  } else compareAll(settled, least, 'settled', tally);
}

function compareAll(stated: readonly VersionStatement[], expected: number, when: string, tally: Tally): void {
  for (const { node, atUs, minimum } of stated)
    tally.compare(minimum === expected, atUs, () => {
      const what = minimum === undefined ? 'no minimum' : `the minimum ${minimum}`;
      return `${node} states ${what} of the cluster once it has ${when}; ${expected} is right`;
    });
}
