/**
 * What one client may reach. Every listener asks a permit before it touches a bucket: this is the only module that
 * judges a request by its credential's bucket rules (`bucket-rules.ts`).
 *
 * A request that names several buckets is refused as a whole if one of them is out of reach. A listing leaves out what
 * is out of reach. What concerns the whole cluster (`mustReachAll`) is out of reach of every limited credential.
 */
import type { ByteString } from '../base/ids.ts';
import { textOf } from '../base/ids.ts';
import type { BucketRule } from './bucket-rules.ts';
import { reaches } from './bucket-rules.ts';
import type { Role } from './role.ts';

/** A bucket by name. Keys of objects have this form, too. */
export interface BucketName {
  readonly type: ByteString;
  readonly bucket: ByteString;
}

/** What one client may reach. */
export interface Permit {
  /** The role of the client's credential; `admin` where no credentials are configured. */
  readonly role: Role;
  /** Whether the client is limited to some buckets. */
  readonly isLimited: boolean;
  /** Whether the client may reach the bucket, without an effect. */
  mayReach(type: ByteString, bucket: ByteString): boolean;
  /** Throws `Forbidden`, counted and logged, unless the client may reach each of the buckets. */
  mustReach(buckets: Iterable<BucketName>): void;
  /** Throws `Forbidden`, counted and logged, if the client is limited to some buckets. */
  mustReachAll(): void;
}

function unlimited(role: Role): Permit {
  return {
    role,
    isLimited: false,
    mayReach: () => true,
    mustReach: () => undefined,
    mustReachAll: () => undefined,
  };
}

/** The permits of clients without a limit, by role. */
export const fullPermits: Readonly<Record<Role, Permit>> = {
  read: unlimited('read'),
  write: unlimited('write'),
  admin: unlimited('admin'),
};

/** The permit of every client where no credentials are configured. */
export const fullPermit: Permit = fullPermits.admin;

/** The permit of a limited client. `refusal` counts and logs, and makes the error. */
export class LimitedPermit implements Permit {
  readonly role: Role;
  readonly isLimited = true;
  readonly #rules: readonly BucketRule[];
  readonly #refusal: (what: string) => Error;

  constructor(role: Role, rules: readonly BucketRule[], refusal: (what: string) => Error) {
    this.role = role;
    this.#rules = rules;
    this.#refusal = refusal;
  }

  mayReach(type: ByteString, bucket: ByteString): boolean {
    return reaches(this.#rules, type, bucket);
  }

  mustReach(buckets: Iterable<BucketName>): void {
    for (const { type, bucket } of buckets) {
      if (this.mayReach(type, bucket)) continue;
      throw this.#refusal(`the bucket ${JSON.stringify(textOf(bucket))} of the type ${textOf(type)}`);
    }
  }

  mustReachAll(): void {
    throw this.#refusal('what concerns the whole cluster');
  }
}
