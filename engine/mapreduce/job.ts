/**
 * A MapReduce job as values: what a client asked for, checked and without spellings. Inputs go through the phases in
 * order; the results of phases with `keep`, which the last one has unless it says otherwise, are the answer.
 */
import type { ByteString } from '../base/ids.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** One object to work on. */
export interface Input {
  readonly type: ByteString;
  readonly bucket: ByteString;
  readonly key: ByteString;
  /** What the client, or the phase before, says beside the name; undefined: nothing. */
  readonly keydata: Json | undefined;
}

export type Inputs =
  | { readonly kind: 'list'; readonly items: readonly Input[] }
  /** All keys of a bucket that pass the filter. */
  | {
      readonly kind: 'bucket';
      readonly type: ByteString;
      readonly bucket: ByteString;
      readonly filter: KeyFilter | undefined;
    };

/** Whether a key, as text, is wanted. */
export type KeyFilter = (key: string) => boolean;

/** What a map or reduce phase runs: a built-in function by its canonical name, or a registered Wasm module. */
export type PhaseFunction =
  { readonly kind: 'builtin'; readonly name: string } | { readonly kind: 'wasm'; readonly module: string };

interface Kept {
  /** The phase's results belong to the answer. */
  readonly keep: boolean;
}

export interface FunctionPhase extends Kept {
  readonly kind: 'map' | 'reduce';
  readonly run: PhaseFunction;
  /** Undefined: none given. */
  readonly arg: Json | undefined;
}

export interface LinkPhase extends Kept {
  readonly kind: 'link';
  /** Undefined: links to any bucket; so for the tag. */
  readonly bucket: ByteString | undefined;
  readonly tag: ByteString | undefined;
}

export type Phase = FunctionPhase | LinkPhase;

export interface Job {
  readonly inputs: Inputs;
  /** None: the inputs themselves are the answer. */
  readonly phases: readonly Phase[];
  /** Milliseconds; undefined: the node's default. */
  readonly timeoutMs: number | undefined;
}

/** Limits of a request's body, beside its length. */
export interface JobLimits {
  /** Inputs of a list. */
  readonly inputCountMax: number;
  readonly phaseCountMax: number;
  /** Elements of a key filter, those inside `and`, `or` and `not` included. */
  readonly filterCountMax: number;
  readonly timeoutMsMax: number;
}

export const defaultJobLimits: JobLimits = {
  inputCountMax: 100_000,
  phaseCountMax: 32,
  filterCountMax: 1000,
  timeoutMsMax: 3_600_000,
};
