/** The configuration keys of MapReduce, for the table of `keys.ts`. */
import { wholeNumber } from './values.ts';

/** Limits of MapReduce jobs; units as in the names. */
export interface MapReduceFields {
  readonly mapredTimeoutMs: number;
  readonly mapredJobsMax: number;
  readonly mapredInputsMax: number;
  readonly mapredBytesMax: number;
}

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** The rows. */
export const mapReduceKeys = {
  mapredTimeoutMs: {
    kind: wholeNumber(10, 3_600_000, 'ms'),
    fallback: 60_000,
    trial: [5000, 60_000],
    help: 'How long a MapReduce job may take when the client does not say.',
  },
  mapredJobsMax: {
    kind: wholeNumber(1, 10_000, 'jobs'),
    fallback: 16,
    trial: [4, 16],
    help: 'MapReduce jobs that this node coordinates at once; further ones are refused.',
  },
  mapredInputsMax: {
    kind: wholeNumber(1, 10_000_000, 'inputs'),
    fallback: 100_000,
    trial: [1000, 100_000],
    help: 'Inputs that a MapReduce job may list; a bucket’s keys are not listed by the client and not counted here.',
  },
  mapredBytesMax: {
    kind: wholeNumber(1024, 4 * gibibyte, 'bytes'),
    fallback: 64 * mebibyte,
    trial: [mebibyte, 64 * mebibyte],
    help: 'Bytes of values that one MapReduce job gathers in one place: a reduce phase, or results not taken in chunks.',
  },
} as const;
