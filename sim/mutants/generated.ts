/**
 * Generated mutants: a seeded choice among all places at which the operators can edit the built engine. A mutant's name
 * is made of its file, its operator and the edited text, so it keeps its name while other code changes.
 */
import { hash } from 'node:crypto';

import type { Random } from '../../engine/io/random.ts';
import type { OperatorName, SourceEdit } from './operators.ts';
import { operators } from './operators.ts';

/** The folders of the engine whose code is edited, each with the scenarios that lean on it most. */
export const mutatedFolders: Readonly<Record<string, readonly string[]>> = {
  transactions: [
    ...['transactions', 'crash-after-decision', 'participant-crash-loop', 'retries-through-other-nodes'],
    ...['duplicated-commits', 'coordinator-is-replaced', 'transactions-during-ring-change', 'wiped-primary'],
    ...['zombie-coordinator', 'crash-during-prepare', 'single-put-batches', 'retries-after-disk-loss'],
  ],
  storage: [
    ...['crash-and-restart', 'disk-errors', 'torn-log-tail', 'single-node-power-loss', 'disk-space-recovers'],
    ...['bit-rot', 'crash-loop', 'lost-files', 'slow-disk-fills-queue', 'old-and-foreign-disks'],
  ],
  replication: [
    ...['partition-minority', 'hints-only', 'read-repair-only', 'tombstones-removed', 'large-reads'],
    ...[
      'hint-holder-leaves',
      'hints-outlive-deletions',
      'siblings-after-partition',
      'slow-peer-fills-channel',
    ],
  ],
  'anti-entropy': [
    ...[
      'exchange-interrupted',
      'no-churn-when-equal',
      'stale-snapshot',
      'snapshot-corruption',
      'version-skew',
    ],
    ...['bit-rot-repaired', 'wiped-replica-rebuilds', 'deletes-race-repair'],
  ],
  cluster: [
    ...['join-under-load', 'leave-under-load', 'replace-dead-node', 'ring-disagreement', 'flapping-peer'],
    ...['standby-and-return', 'missed-ring-change', 'replaced-node-returns', 'wrong-identity'],
    ...['left-node-restarts', 'wiped-replica-rebuilds', 'power-loss-between-steps'],
  ],
};

/** One generated mutant. */
export interface GeneratedMutant {
  /** `drop-await-1f3a9c20`. */
  readonly name: string;
  readonly operator: OperatorName;
  readonly folder: string;
  /** The built file, relative to the build. */
  readonly file: string;
  readonly line: number;
  /** The edited text and what replaces it, each on one line and cut. */
  readonly before: string;
  readonly after: string;
  /** Offsets in the file's text, and the replacement. */
  readonly edit: SourceEdit;
}

const shownMax = 160;

/** All mutants of one file. `folder`: the folder of the engine that it belongs to. */
export function mutantsOf(
  folder: string,
  file: string,
  text: string,
  edits: readonly SourceEdit[],
): readonly GeneratedMutant[] {
  const seen = new Map<string, number>();
  return edits.map((edit) => {
    const before = text.slice(edit.from, edit.to);
    // A short edit, such as an operator, is identified by its line.
    const line = text.slice(text.lastIndexOf('\n', edit.from) + 1, edit.to);
    const identity = `${file}\n${edit.operator}\n${line.trim()}`;
    const nth = seen.get(identity) ?? 0;
    seen.set(identity, nth + 1);
    const digest = hash('sha256', `${identity}\n${nth}`).slice(0, 8);
    return {
      name: `${edit.operator}-${digest}`,
      operator: edit.operator,
      folder,
      file,
      line: text.slice(0, edit.from).split('\n').length,
      before: oneLine(before.length < 4 ? line : before),
      after: oneLine(edit.replace),
      edit,
    };
  });
}

/**
 * `count` of the mutants: in turn one of each folder and operator, so that rare operators are not lost among frequent
 * ones.
 */
export function chooseMutants(
  all: readonly GeneratedMutant[],
  count: number,
  random: Random,
): readonly GeneratedMutant[] {
  const groups = Object.keys(mutatedFolders).flatMap((folder) =>
    (Object.keys(operators) as OperatorName[]).map((operator) =>
      all.filter((mutant) => mutant.folder === folder && mutant.operator === operator),
    ),
  );
  const left = groups.filter((group) => group.length > 0);
  const chosen: GeneratedMutant[] = [];
  while (chosen.length < count && left.some((group) => group.length > 0)) {
    for (const group of left) {
      if (group.length === 0 || chosen.length === count) continue;
      chosen.push(...group.splice(random.below(group.length), 1));
    }
  }
  return chosen;
}

/** The file with the mutant. */
export function mutatedText(text: string, { edit }: GeneratedMutant): string {
  return text.slice(0, edit.from) + edit.replace + text.slice(edit.to);
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= shownMax ? line : `${line.slice(0, shownMax - 1)}…`;
}
