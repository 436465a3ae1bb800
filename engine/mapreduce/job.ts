/**
 * A MapReduce job as values: a client's request, validated and normalized. Inputs pass the phases in order. The results
 * of phases with `keep` form the answer; the last phase has it by default.
 */
import type { LockstepError } from '../base/errors.ts';
import type { ByteString } from '../base/ids.ts';

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** One object to process. */
export interface Input {
  readonly type: ByteString;
  readonly bucket: ByteString;
  readonly key: ByteString;
  /** Data that the client or the preceding phase attached to the name; undefined: none. */
  readonly keydata: Json | undefined;
}

/** What a job begins with. */
export type Inputs =
  | { readonly kind: 'list'; readonly items: readonly Input[] }
  /** All keys of a bucket that pass the filter. */
  | {
      readonly kind: 'bucket';
      readonly type: ByteString;
      readonly bucket: ByteString;
      readonly filter: KeyFilter | undefined;
    };

/** Whether a key, given as text, is selected. */
export type KeyFilter = (key: string) => boolean;

/** What a map or reduce phase runs: a built-in function by its canonical name, or a registered Wasm module. */
export type PhaseFunction =
  { readonly kind: 'builtin'; readonly name: string } | { readonly kind: 'wasm'; readonly module: string };

interface Kept {
  /** Whether the phase's results belong to the answer. */
  readonly keep: boolean;
}

/** A map or reduce phase. */
export interface FunctionPhase extends Kept {
  readonly kind: 'map' | 'reduce';
  readonly run: PhaseFunction;
  /** Undefined if the client gave none. */
  readonly arg: Json | undefined;
}

/** A phase that follows the links of its inputs. */
export interface LinkPhase extends Kept {
  readonly kind: 'link';
  /** Undefined: links to any bucket. Likewise for `tag`. */
  readonly bucket: ByteString | undefined;
  readonly tag: ByteString | undefined;
}

/** One phase of a job. */
export type Phase = FunctionPhase | LinkPhase;

/** A whole job. */
export interface Job {
  readonly inputs: Inputs;
  /** Empty: the inputs themselves are the answer. */
  readonly phases: readonly Phase[];
  /** In milliseconds; undefined: the node's default. */
  readonly timeoutMs: number | undefined;
  /** Why an input of a map or link phase is out of the client's reach; undefined: it is not. Absent: nothing is. */
  readonly refusalOf?: (input: Input) => LockstepError | undefined;
}

/** Limits of a request, besides the length of its body. */
export interface JobLimits {
  /** Most inputs of a list. */
  readonly inputCountMax: number;
  readonly phaseCountMax: number;
  /** Most elements of a key filter, including those inside `and`, `or` and `not`. */
  readonly filterCountMax: number;
  readonly timeoutMsMax: number;
}

/** The limits of a node with the default configuration. */
export const defaultJobLimits: JobLimits = {
  inputCountMax: 100_000,
  phaseCountMax: 32,
  filterCountMax: 1000,
  timeoutMsMax: 3_600_000,
};
