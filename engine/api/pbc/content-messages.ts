/** Defines the parts of messages that describe a value, by the names of Riak's protocol. */
/** A name and its value: an entry of user metadata or of a secondary index. */
export interface RpbPair {
  readonly key: Uint8Array;
  readonly value?: Uint8Array | undefined;
}

/** A link to an object of the default type. */
export interface RpbLink {
  readonly bucket?: Uint8Array | undefined;
  readonly key?: Uint8Array | undefined;
  readonly tag?: Uint8Array | undefined;
}

/** A value and its metadata: one sibling of an object. */
export interface RpbContent {
  readonly value: Uint8Array;
  readonly content_type?: Uint8Array | undefined;
  readonly charset?: Uint8Array | undefined;
  readonly content_encoding?: Uint8Array | undefined;
  readonly vtag?: Uint8Array | undefined;
  readonly links?: readonly RpbLink[];
  /** Seconds since the epoch; below, the microseconds within that second. */
  readonly last_mod?: number | undefined;
  readonly last_mod_usecs?: number | undefined;
  readonly usermeta?: readonly RpbPair[];
  readonly indexes?: readonly RpbPair[];
  readonly deleted?: boolean | undefined;
}
