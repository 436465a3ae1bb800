/** The configuration keys of joining and leaving, for the table of `keys.ts`. */
import { wholeNumber } from './values.ts';

/** Limits of ring changes; units as in the names. */
export interface TransferFields {
  readonly transferBytesPerSecond: number;
  readonly transferBatchBytes: number;
  readonly transferDropDelaySeconds: number;
  readonly leavePatienceSeconds: number;
}

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

/** The rows. */
export const transferKeys = {
  transferBytesPerSecond: {
    kind: wholeNumber(1024, 64 * gibibyte, 'bytes/s'),
    fallback: 32 * mebibyte,
    trial: [131_072, 32 * mebibyte],
    help: 'How fast this node moves ranges when it joins or leaves, at most.',
  },
  transferBatchBytes: {
    kind: wholeNumber(1024, 16 * mebibyte, 'bytes'),
    fallback: 256 * 1024,
    trial: [4096, 256 * 1024],
    help: 'Bytes of one batch of such a move, about; one is under way at a time.',
  },
  transferDropDelaySeconds: {
    kind: wholeNumber(0, 31_536_000, 'seconds'),
    fallback: 300,
    trial: [1, 5, 300],
    help: 'How long the ring has stood still, and all members agreed to it, before keys given away are removed here.',
  },
  leavePatienceSeconds: {
    kind: wholeNumber(0, 31_536_000, 'seconds'),
    fallback: 600,
    trial: [60, 600],
    help: 'How long a leaving node stays for transactions that it has a part in and writes that nobody takes from it.',
  },
} as const;
