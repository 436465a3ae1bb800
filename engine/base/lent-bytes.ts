/** Bytes in memory that the lender uses again. */
export interface LentBytes {
  readonly bytes: Uint8Array;
  /**
   * The borrower calls it at most once, when it no longer uses the bytes. If it does not, the lender takes other memory
   * for what it lends next.
   */
  readonly release: () => void;
}
