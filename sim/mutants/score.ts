/** The score of generated mutants: how many the testbed noticed, of those that are not equivalent to the engine. */
import { LockstepError } from '../../engine/base/errors.ts';
import { jsonOf } from '../plan/json-text.ts';
import type { OperatorName } from './operators.ts';

/** Generated mutants that change nothing that Lockstep promises, by name, each with the reason. */
export const equivalentMutants: Readonly<Record<string, string>> = {
  'boundary-0072f1f1': 'a bound of memory that is one entry lower',
  'boundary-8faaafef': 'the timer of a batch that is over fires at its deadline and finds nothing open',
  'drop-await-00bc1974': 'the file is read only, and nothing depends on when its handle is closed',
  'drop-await-bbad6a91': 'owners are told once more of a key that they hold already',
  'drop-clean-up-084f3981':
    'the timer fires at the deadline of its read and resolves what is resolved already',
  'drop-error-58486bbf': 'the disk throws no other error than the one that is handled after',
  'drop-error-cc3523fb': 'the decoder throws no other error than the one that is handled after',
  'swap-check-and-await-4e42dce0': 'without a number no file has the name that is removed',
  'wrong-identity-8d3d378f':
    'a primary has one attempt under an id at a time, so no other claim of it is dropped',
  'boundary-9ba45e3d': 'a deadline that is one microsecond later is no promise broken',
  'drop-await-03e36745':
    'the probe file is removed either way: its removal does not wait for the end of its closing on any system',
  'drop-await-ef741901':
    'the mark of a question under way only avoids a second question to the node, whose answer changes nothing more',
  'drop-error-e002d492': 'the decoder throws no other error than the one that is handled after',
  'drop-error-dfbf3304': 'the decoder throws no other error than the one that is handled after',
  'boundary-312d39e9': 'the end of a rebuild that waited for nothing is logged, too',
  'stale-value-e7b5674c': 'a sound hint file is written once more',
  'drop-clean-up-d468c84b': 'the timer of a round that is over fires at its deadline and finds it over',
  'drop-clean-up-bdf5fe4f':
    'a branch that is not told to forget asks after four inquiry intervals, and its record is dropped then',
  'stale-value-322cb4f6': 'members are asked again at each tick which attempts are open there',
  'boundary-90f93eee': 'no bit stands for a target beyond the last',
  'drop-clean-up-4418c43f': 'the scheduler is stopped again at the close, and finds no peer until then',
  'stale-value-4a72be92': 'the segments of a slice are summed one by one instead, with the same sums',
  'wrong-identity-8ffffbf5': 'a sweep goes on with its next peer at the next tick instead of after a pause',
  'boundary-674252f0': 'a bound of memory that is one entry higher',
  'boundary-579fa1ac': 'the byte beyond the bucket is overwritten by the separator',
  'boundary-7235c7c0': 'every start sweeps at once, also without damage, and finds what it finds later',
  'swap-check-and-await-53c56a7e':
    'an answer of another kind has no records, so taking them fails before the check does',
  'boundary-25d04983': 'an equal base has returned in the line before',
  'drop-await-9dadacdb':
    'the acknowledgement waits for the level, as after any commit, and not for the replicas beyond it',
  'stale-value-b13a5e56':
    'a commit that reads the field has forced the outcome anew, or it holds the end of a record that is durable',
  'drop-error-8c76e909':
    'a peer answers an object that its own encoder has made, and a frame that was altered fails its checksum',
  'boundary-ef0b80e8': 'at the bound the assignment stores the value that is there',
  'drop-clean-up-5b95bf49':
    'the driver refuses every request once it is closed, so its queues never see one; the engine does without since',
  'drop-error-c012cc69':
    'the first read of a start is refused only by a node that is being stopped, and that begins no rebuild',
  'stale-value-905b3d05':
    'a second close of a file does nothing, and what a failed rename left is removed at once instead of by the next start',
  'stale-value-9e310581':
    'a missing segment is damaged, so it is never merged, and every start reports it, sealed or not',
  'wrong-identity-1b397f9c':
    'no segment is opened while a flush to another one is in flight; the engine asserts it since',
  'wrong-identity-25499e03':
    'a member file that names a member which has not left names its own node, or that node has left and the file says so',
  'swap-check-and-await-df6361da':
    'a stop, or a reason to step back, may come during that wait anyway, and is heeded as late then',
  'wrong-identity-d363e30c': 'a sweep goes on with its next peer at the next tick instead of after a pause',
  'boundary-9718f22e': 'every put takes the general way, which promises the same',
  'drop-error-15170416':
    'a replica answers an object that an encoder has made: its record and the frame of the answer have checksums',
  'drop-clean-up-881987b4':
    'an exchange that begins during the farewell ends with the links, and the close stops the scheduler and waits for it',
  'boundary-87149748':
    'where a node alone owns an object, its quorum lacks nothing, and there is no other owner to ask',
  'drop-await-9d3ec00b':
    'the outputs are synced and stay, and the store takes no more writes: nothing depends on when their handles are closed',
  'boundary-b46e29fa': 'where the suspects fill whole windows, an empty window more is repaired',
  'boundary-40218916': 'the incarnation number of a node that runs is 1 or more',
};

/** One mutant that was tried. */
export interface ScoreEntry {
  readonly name: string;
  readonly operator: OperatorName;
  readonly folder: string;
  /** The built file and its line. */
  readonly file: string;
  readonly line: number;
  readonly before: string;
  readonly after: string;
  /** How many seeds of the survey execute its place. This and `changed` are absent in entries of older builds. */
  readonly reachedBy?: number;
  /** Runs that were made with it, and how many of them took another course than without it. */
  readonly runs: number;
  readonly changed?: number;
  readonly cpuSeconds: number;
  /** Undefined: it survived. */
  readonly notice?: {
    readonly scenario: string;
    readonly seed: number;
    readonly by: string;
    readonly reason: string;
  };
}

/** Sums and entries, in the order of the entries' names. */
export interface Score {
  readonly tried: number;
  readonly noticed: number;
  /** Survivors that change nothing that is promised: `equivalentMutants` gives the reason of each. */
  readonly equivalent: number;
  readonly mutants: readonly ScoreEntry[];
}

/** Reads a file of `mutants --generated --score`. Throws `BadRequest` for a text that is none. */
export function parseScore(text: string): Score {
  const value = jsonOf(text, 'score', 'BadRequest');
  const { mutants } = (value ?? {}) as Partial<Record<keyof Score, unknown>>;
  if (Array.isArray(mutants) && mutants.every(isEntry)) return value as Score;
  const detail =
    'this is not a score: what lockstep-sim mutants --generated N --score FILE writes is expected';
  throw new LockstepError('BadRequest', detail);
}

function isEntry(value: unknown): boolean {
  const { name, operator, file, line, runs } = (value ?? {}) as Partial<Record<keyof ScoreEntry, unknown>>;
  const texts = [name, operator, file].every((text) => typeof text === 'string');
  return texts && Number.isSafeInteger(line) && Number.isSafeInteger(runs);
}

/** Why the mutant changes nothing that is promised; undefined if that was not shown. */
export function reasonOf(name: string): string | undefined {
  return equivalentMutants[name];
}

/** Sums the entries. */
export function scoreOf(mutants: readonly ScoreEntry[]): Score {
  const survivors = mutants.filter(({ notice }) => notice === undefined);
  const equivalent = survivors.filter(({ name }) => reasonOf(name) !== undefined).length;
  return { tried: mutants.length, noticed: mutants.length - survivors.length, equivalent, mutants };
}

/** Noticed mutants in a hundred of those that are not equivalent, with one decimal. */
export function percentOf({ tried, noticed, equivalent }: Score): number {
  const real = tried - equivalent;
  return real === 0 ? 0 : Math.round((noticed * 1000) / real) / 10;
}
