/** The parts of messages that describe a value, as Riak's protocol has them (spec: facts 7.2). */
export interface RpbPair {
  readonly key: Uint8Array;
  readonly value?: Uint8Array | undefined;
}

export interface RpbLink {
  readonly bucket?: Uint8Array | undefined;
  readonly key?: Uint8Array | undefined;
  readonly tag?: Uint8Array | undefined;
}

export interface RpbContent {
  readonly value: Uint8Array;
  readonly content_type?: Uint8Array | undefined;
  readonly charset?: Uint8Array | undefined;
  readonly content_encoding?: Uint8Array | undefined;
  readonly vtag?: Uint8Array | undefined;
  readonly links?: readonly RpbLink[];
  /** Seconds since the epoch, and the microseconds of that second. */
  readonly last_mod?: number | undefined;
  readonly last_mod_usecs?: number | undefined;
  readonly usermeta?: readonly RpbPair[];
  readonly indexes?: readonly RpbPair[];
  readonly deleted?: boolean | undefined;
}
