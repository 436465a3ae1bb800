/**
 * Follows the records of in-doubt transactions on a node's disk (engine/transactions/formats/records.ts): reads them
 * all when an incarnation begins, then every write. A record counts from the instant at which it has been written.
 */
import { BytesError } from '../../engine/base/bytes.ts';
import { byteStringOf } from '../../engine/base/ids.ts';
import type { ByteString } from '../../engine/base/ids.ts';
import { bucketPrefix } from '../../engine/base/object-key.ts';
import {
  branchBucket,
  decisionBucket,
  readBranch,
  readDecision,
} from '../../engine/transactions/formats/records.ts';
import { isReadOnly } from '../../engine/transactions/formats/prepare-request.ts';
import type { TransactionRecordsFound } from '../check/metrics/reconcile/account.ts';
import { segmentHeadBytes } from '../../engine/storage/log/record.ts';
import type { LogRecord, SegmentHead, SegmentTail } from './log-records.ts';
import { tailOf } from './log-records.ts';
import { logsInUse } from './segments-in-use.ts';

/** The state in a record; `damaged` if it cannot be read. */
export type RecordState = 'prepared' | 'done' | 'committing' | 'ended' | 'damaged';

/** The newest record of one branch or decision; `seq` is its store sequence number. */
export interface RecordHeld {
  readonly seq: number;
  /** Undefined: removed. */
  readonly state: RecordState | undefined;
  /** Wall clock of the writing node, in milliseconds. */
  readonly sinceMs: number;
  /** For a decision: the nodes that must commit. */
  readonly committers: readonly string[];
  /** A decision that was written together with the effects of the coordinator's own branch. */
  readonly own: boolean;
  /** A branch that has checks and nothing to write. */
  readonly onlyChecks: boolean;
}

const logFile = /^store\/\d+\.log$/;
const systemType = '' as ByteString;
const branchPrefix = bucketPrefix(systemType, branchBucket);
const decisionPrefix = bucketPrefix(systemType, decisionBucket);

/** The transaction records on one node's disk. */
export class TransactionRecords {
  readonly #held = new Map<string, RecordHeld>();
  readonly #tails = new Map<string, SegmentTail>();
  readonly #preparedOnce = new Set<string>();

  /** An incarnation begins with these files. */
  opened(files: ReadonlyMap<string, Buffer>): void {
    this.#held.clear();
    this.#tails.clear();
    this.#preparedOnce.clear();
    for (const [path, content, head] of logsInUse(files, 'store')) this.#read(path, content, 0, head);
    this.#preparedOnce.clear();
  }

  wrote(path: string, whole: Buffer, from: number): void {
    if (logFile.test(path)) this.#read(path, whole, from);
  }

  /** The disk has unreadable places; what the node knows of them cannot be told. */
  get blind(): boolean {
    return [...this.#tails.values()].some((tail) => tail.hasHole);
  }

  /** Number of branches prepared on this disk since it was opened, or applied together with the decision. */
  get preparedSince(): number {
    return this.#preparedOnce.size;
  }

  get found(): TransactionRecordsFound {
    const held = [...this.#held.values()];
    const count = (wanted: RecordState): number => held.filter(({ state }) => state === wanted).length;
    return {
      prepared: count('prepared'),
      done: count('done') + held.filter(({ own }) => own).length,
      committing: count('committing'),
      damaged: count('damaged'),
    };
  }

  branch(xid: string): RecordHeld | undefined {
    return this.#held.get(branchPrefix + byteStringOf(xid));
  }

  decision(xid: string): RecordHeld | undefined {
    return this.#held.get(decisionPrefix + byteStringOf(xid));
  }

  #read(path: string, content: Buffer, from: number, head?: SegmentHead): void {
    if (content.length < segmentHeadBytes) return;
    const known = this.#tails.get(path);
    const tail = tailOf(content, known, head);
    if (tail === undefined) return;
    if (tail !== known) this.#tails.set(path, tail);
    tail.read(content, from, (record) => this.#take(record));
  }

  #take({ key, seq, value }: LogRecord): void {
    const isBranch = key.startsWith(branchPrefix);
    if (!isBranch && !key.startsWith(decisionPrefix)) return;
    const held = { seq, ...(value === undefined ? removed : said(isBranch, value)) };
    if (held.state === 'prepared') this.#preparedOnce.add(key);
    if (held.own) this.#preparedOnce.add(branchPrefix + key.slice(decisionPrefix.length));
    const known = this.#held.get(key);
    // A record that the disk wrote in parts was damaged before its remainder arrived.
    const isWhole = known?.seq === seq && known.state === 'damaged';
    if (known === undefined || known.seq < seq || isWhole) this.#held.set(key, held);
  }
}

const removed = { state: undefined, sinceMs: 0, committers: [], own: false, onlyChecks: false };

function said(isBranch: boolean, value: Uint8Array | 'damaged'): Omit<RecordHeld, 'seq'> {
  const damaged = { ...removed, state: 'damaged' } as const;
  if (value === 'damaged') return damaged;
  try {
    if (isBranch) {
      const { state, sinceMs, order } = readBranch(value);
      const onlyChecks = order.operations.length > 0 && isReadOnly(order);
      return { ...removed, state: state === 'prepared' ? state : 'done', sinceMs, onlyChecks };
    }
    const { state, sinceMs, branches, own } = readDecision(value);
    const committers = branches.filter(({ readOnly }) => !readOnly).map(({ node }): string => node);
    return { ...removed, state, sinceMs, committers, own: own !== undefined };
  } catch (error) {
    if (error instanceof BytesError) return damaged;
    throw error;
  }
}
