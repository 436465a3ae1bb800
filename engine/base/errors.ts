/**
 * The one table of errors that the product reports: stable code, HTTP status, one sentence, and whether the error is
 * definite.
 *
 * A definite error states that the operation certainly did not happen; after an indefinite one it may have happened.
 * Clients decide by it whether a retry is safe; recorded histories decide by it whether an operation is `fail` or
 * `unknown`. Source of the idea: FoundationDB's error table, Maelstrom's `definite?`.
 */
import { Listeners } from './listeners.ts';

interface ErrorRow {
  /** HTTP status of the answer that carries this error. */
  readonly status: number;
  /** Whether the operation certainly did not happen. */
  readonly definite: boolean;
  /** The message when the code that reports the error gives no more precise one. */
  readonly sentence: string;
}

/** The table, keyed by code. The order of the rows is the code's number in the peer protocol: append only. */
export const errorTable = {
  BadRequest: { status: 400, definite: true, sentence: 'the request is malformed' },
  Unauthorized: { status: 401, definite: true, sentence: 'the credentials are missing or wrong' },
  NotFound: { status: 404, definite: true, sentence: 'there is no such thing' },
  MethodNotAllowed: { status: 405, definite: true, sentence: 'the path does not offer this method' },
  Conflict: { status: 409, definite: true, sentence: 'another operation holds what this one needs' },
  PreconditionFailed: { status: 412, definite: true, sentence: 'the stated precondition does not hold' },
  TooLarge: { status: 413, definite: true, sentence: 'the request exceeds a limit' },
  UnsupportedMediaType: { status: 415, definite: true, sentence: 'the content type is not understood' },
  Internal: { status: 500, definite: false, sentence: 'the node failed in a way it did not foresee' },
  WasmNotImplemented: { status: 501, definite: true, sentence: 'this node runs without the wasm feature' },
  WasmTrap: { status: 500, definite: true, sentence: 'the Wasm module trapped' },
  WasmOutOfFuel: { status: 500, definite: true, sentence: 'the Wasm module ran out of fuel' },
  WasmMemoryLimit: { status: 500, definite: true, sentence: 'the Wasm module exceeded its memory limit' },
  KeyfunUnavailable: {
    status: 503,
    definite: true,
    sentence: 'the bucket routes by a Wasm module that is not registered',
  },
  NoTargets: { status: 503, definite: true, sentence: 'no routable replica holds the key' },
  NoQuorum: { status: 503, definite: false, sentence: 'too few replicas answered for the consistency level' },
  Timeout: { status: 503, definite: false, sentence: 'the deadline passed before enough replicas answered' },
  Overloaded: { status: 503, definite: true, sentence: 'a bounded queue is full; try again later' },
  ShuttingDown: { status: 503, definite: true, sentence: 'the node is stopping' },
  StorageFailed: { status: 503, definite: false, sentence: 'the store is out of service' },
  ConfigInvalid: { status: 500, definite: true, sentence: 'the configuration is not valid' },
  PlanInvalid: { status: 400, definite: true, sentence: 'the plan file is not valid' },
  DirectoryLocked: { status: 500, definite: true, sentence: 'another process holds the data directory' },
  FormatUnsupported: {
    status: 500,
    definite: true,
    sentence: 'the data was written in a format this version does not read',
  },
  FrameInvalid: { status: 400, definite: true, sentence: 'a frame is truncated, oversized or corrupt' },
  Corrupted: { status: 500, definite: true, sentence: 'stored bytes do not match their checksum' },
  PeerRefused: { status: 503, definite: true, sentence: 'the peer refused the handshake' },
  PeerGone: { status: 503, definite: false, sentence: 'the connection to the peer was lost' },
  StoreForeign: {
    status: 500,
    definite: true,
    sentence: 'the data directory belongs to another node or cluster',
  },
  PhaseFailed: { status: 500, definite: true, sentence: 'a phase of a MapReduce job failed' },
  Forbidden: { status: 403, definite: true, sentence: 'this is not allowed' },
  ReplicasDisagree: {
    status: 503,
    definite: true,
    sentence: 'the copies differ that must be equal at this consistency level; read again',
  },
  FileMissing: { status: 500, definite: true, sentence: 'a durable file of the node is missing' },
  Standby: {
    status: 503,
    definite: true,
    sentence: 'the node is in STANDBY and takes no requests of clients',
  },
  RateLimited: {
    status: 429,
    definite: true,
    sentence: 'the credential sends more requests than its rate allows',
  },
  StaleEpoch: {
    status: 503,
    definite: true,
    sentence: 'the bucket was flushed meanwhile; try again',
  },
} as const satisfies Record<string, ErrorRow>;

/** A stable error code; clients and logs see it by this name. */
export type ErrorCode = keyof typeof errorTable;

/** All codes in the table's order. An index is the code's number in the peer protocol. */
export const errorCodes = Object.keys(errorTable) as readonly ErrorCode[];

/** What an error states beyond its code and message. */
export interface ErrorFacts {
  /**
   * Set if the operation certainly did not happen although its code is indefinite, for example because nothing was
   * sent.
   */
  readonly definite?: true;
  /** Answers that arrived (or could still arrive), and answers that the consistency level needs. */
  readonly votes?: Votes;
}

/** A parameter of Riak's that asks for a number of answers. */
export type QuorumName = 'r' | 'pr' | 'w' | 'dw' | 'pw' | 'node_confirms';

/** A request's answers against the number that it needs. */
export interface Votes {
  readonly got: number;
  readonly needed: number;
  /** The parameter that asks for `needed`; absent where no request of a client's is answered. */
  readonly quorum?: QuorumName;
}

/** An error of the table. `detail`, its message, tells a person what was wrong and what is allowed. */
export class LockstepError extends Error {
  override readonly name = 'LockstepError';
  readonly code: ErrorCode;
  readonly facts: ErrorFacts;

  /** `detail` defaults to the table's sentence. `options` carries `cause` and the facts. */
  constructor(
    code: ErrorCode,
    detail: string = errorTable[code].sentence,
    options: ErrorOptions & ErrorFacts = {},
  ) {
    super(detail, options);
    this.code = code;
    const { definite, votes } = options;
    this.facts = {
      ...(definite === undefined ? {} : { definite }),
      ...(votes === undefined ? {} : { votes }),
    };
  }

  /** Whether the operation certainly did not happen. */
  get definite(): boolean {
    return this.facts.definite ?? errorTable[this.code].definite;
  }

  /** HTTP status of the answer that carries this error. */
  get status(): number {
    return errorTable[this.code].status;
  }
}

type Listener = (error: Error) => void;

const listeners = new Listeners<Error>();

/**
 * Calls `listener` with every error that JavaScript itself has thrown in the engine (such as `TypeError`) before
 * `asLockstepError` turns it into an answer. Each of them is a bug, and a caller that only sees `Internal` cannot tell.
 * Returns a function that removes it.
 */
export function onProgramError(listener: Listener): () => void {
  return listeners.add(listener);
}

function isProgramError(error: unknown): error is Error {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

/**
 * Returns a `LockstepError` unchanged; wraps anything else as `Internal`, with the original as `cause`. Reports
 * errors of JavaScript itself to `onProgramError`.
 */
export function asLockstepError(error: unknown): LockstepError {
  if (error instanceof LockstepError) return error;
  if (isProgramError(error)) listeners.notify(error);
  const detail = error instanceof Error ? error.message : String(error);
  return new LockstepError('Internal', detail, { cause: error });
}
