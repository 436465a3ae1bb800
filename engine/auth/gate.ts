/**
 * Authenticates clients and authorizes their requests. A node has one gate for all client listeners. It holds the
 * credentials, and counts and logs refusals. The listeners' own tables state the access that each route, message and
 * command needs.
 *
 * A token's digest is compared in constant time with every credential. The duration thus reveals neither how much of a
 * token was right nor whose it nearly was. Tokens and unverified names are never logged, counted or put into an answer:
 * people type tokens where a name belongs.
 *
 * A credential may be limited to buckets (`permit.ts`) and to a rate of requests (`request-rate.ts`); both limits hold at
 * each node by itself. What admins ask for is logged as `audit.admin.requested`.
 */
import { timingSafeEqual } from 'node:crypto';
import { LockstepError } from '../base/errors.ts';
import type { Clock } from '../io/clock.ts';
import type { Log, LogFields } from '../io/log.ts';
import type { FamilySource } from '../metrics/family.ts';
import { LabelledFamily } from '../metrics/labelled-family.ts';
import type { BucketRule } from './bucket-rules.ts';
import type { Credential } from './credentials.ts';
import { digestOf, tokenBytesMax } from './credentials.ts';
import type { Permit } from './permit.ts';
import { fullPermit, fullPermits, LimitedPermit } from './permit.ts';
import { RequestTokens } from './request-rate.ts';
import type { Access, Role } from './role.ts';
import { mayUse } from './role.ts';

/** The client listeners, as they appear in metrics and logs. */
export type ClientListener = 'http' | 'pb' | 'redis' | 'stats';

/**
 * `missing`: no credentials given; `wrong`: no known credential; `forbidden`: the role does not suffice, or the bucket is
 * not one of the credential's.
 */
export type AuthFailure = 'missing' | 'wrong' | 'forbidden';

const listeners: readonly ClientListener[] = ['http', 'pb', 'redis', 'stats'];
const failures: readonly AuthFailure[] = ['missing', 'wrong', 'forbidden'];

/** An authenticated client. */
export interface Identity {
  readonly name: string;
  readonly role: Role;
  /** Set once the credential has been removed; the client of an open connection then counts as unauthenticated. */
  readonly revoked: boolean;
  /** The buckets that the client may reach; undefined: all. */
  readonly buckets: readonly BucketRule[] | undefined;
  /** What bounds the rate of its requests at this node; undefined: nothing. */
  readonly tokens: RequestTokens | undefined;
}

/** A credential, its state at this node, and its limits, which may change while clients are connected. */
interface Entry extends Identity, Pick<Credential, 'digest'> {
  revoked: boolean;
  buckets: readonly BucketRule[] | undefined;
  tokens: RequestTokens | undefined;
}

/** One request that needs the admin role, and how it ended. */
export interface AdminRequest {
  readonly listener: ClientListener;
  readonly remote: string;
  /** Undefined: the gate is open. */
  readonly identity: Identity | undefined;
  /** The method and path, or the message. */
  readonly what: string;
  /** `done`, or the code of the error. */
  readonly outcome: string;
}

/** Names that stand for none: Redis clients with only a password send the first, other clients the second. */
const nameless: readonly string[] = ['default', ''];

/** The gate of one node. */
export class Gate {
  /** `svc_auth_failures_total`, for registration with `NodeStats`. */
  readonly family: FamilySource;
  /** `svc_rate_limited_total`, for registration with `NodeStats`. */
  readonly rateFamily: FamilySource;
  readonly #log: Log;
  readonly #clock: Pick<Clock, 'nowUs'>;
  readonly #counts = new LabelledFamily({
    name: 'svc_auth_failures_total',
    help: 'Requests that were turned away, by listener: no credentials, wrong ones, or a role or bucket rules that do not suffice.',
    type: 'counter',
    labels: ['listener', 'reason'],
  });
  readonly #limited = new LabelledFamily({
    name: 'svc_rate_limited_total',
    help: 'Requests that were refused because their credential had sent more than its rate allows, by listener.',
    type: 'counter',
    labels: ['listener'],
  });
  #entries: readonly Entry[] | undefined;

  /** If `credentials` is undefined, the gate is open: every client may do everything. */
  constructor(
    { log, clock }: { readonly log: Log; readonly clock: Pick<Clock, 'nowUs'> },
    credentials: readonly Credential[] | undefined,
  ) {
    this.#log = log;
    this.#clock = clock;
    this.family = this.#counts;
    this.rateFamily = this.#limited;
    for (const listener of listeners) {
      this.#limited.child(listener);
      for (const reason of failures) this.#counts.child(listener, reason);
    }
    if (credentials !== undefined) this.replace(credentials);
  }

  /** Whether no credentials are configured. */
  get open(): boolean {
    return this.#entries === undefined;
  }

  /**
   * Replaces the credentials at once. Clients whose credential remains stay authenticated, with its new limits; the others
   * are revoked.
   */
  replace(credentials: readonly Credential[]): void {
    const kept = new Set<Entry>();
    const before = this.#entries ?? [];
    this.#entries = credentials.map((credential) => {
      const { name, role, digest, buckets, rate } = credential;
      const same = before.find((entry) => isSame(entry, credential));
      const entry: Entry = same ?? { name, role, digest, revoked: false, buckets, tokens: undefined };
      entry.buckets = buckets;
      const old = entry.tokens?.rate;
      if (rate === undefined) entry.tokens = undefined;
      else if (old?.perSecond !== rate.perSecond || old.burst !== rate.burst)
        entry.tokens = new RequestTokens(rate, this.#clock.nowUs());
      kept.add(entry);
      return entry;
    });
    for (const entry of before) if (!kept.has(entry)) entry.revoked = true;
  }

  /**
   * The identity of a token; undefined if no credential has it, or one of another name. Without a name any credential
   * matches.
   */
  identify(token: string | Uint8Array, name: string = ''): Identity | undefined {
    const entries = this.#entries ?? [];
    if (Buffer.byteLength(token) > tokenBytesMax) return undefined;
    const digest = digestOf(token);
    let found: Entry | undefined;
    for (const entry of entries) {
      const same = timingSafeEqual(digest, entry.digest);
      if (same && (entry.name === name || nameless.includes(name))) found = entry;
    }
    return found;
  }

  /**
   * Checks that `identity` may do what needs `needed`, and takes one request of its rate. Throws `Unauthorized`
   * (unauthenticated or revoked), `RateLimited` or `Forbidden`, after counting the refusal. `again`: the request has been
   * admitted before, and had to wait for others since.
   */
  admit(
    listener: ClientListener,
    remote: string,
    identity: Identity | undefined,
    needed: Access,
    again = false,
  ): void {
    if (this.#entries === undefined || needed === 'open') return;
    if (identity === undefined || identity.revoked) throw this.refuse(listener, remote, 'missing');
    const { name, role, tokens } = identity;
    if (!again && tokens?.take(this.#clock.nowUs()) === false) {
      this.#limited.child(listener).value += 1;
      const { perSecond, burst } = tokens.rate;
      const detail = `${name} may send ${perSecond} requests a second, and ${burst} at once; try again in a second`;
      throw new LockstepError('RateLimited', detail);
    }
    if (mayUse(role, needed)) return;
    this.#count(listener, remote, 'forbidden', { name });
    throw new LockstepError('Forbidden', `${name} has the role ${role}; this asks for ${needed}`);
  }

  /** What an admitted client may reach. */
  permitOf(listener: ClientListener, remote: string, identity: Identity | undefined): Permit {
    if (this.#entries === undefined || identity === undefined) return fullPermit;
    const { name, role, buckets } = identity;
    if (buckets === undefined) return fullPermits[role];
    return new LimitedPermit(role, buckets, (what) => {
      this.#count(listener, remote, 'forbidden', { name });
      const rules = buckets.map(({ text }) => text).join(', ');
      return new LockstepError(
        'Forbidden',
        `${name} is limited to the buckets ${rules}; this asks for ${what}`,
      );
    });
  }

  /** Logs a request that needs the admin role: whose it was, what it asked for, from where, and how it ended. */
  audit({ listener, remote, identity, what, outcome }: AdminRequest): void {
    const who = identity === undefined ? {} : { name: identity.name };
    this.#log.event('info', 'audit.admin.requested', { ...who, listener, remote, what, outcome });
  }

  /** Counts and logs a client without valid credentials. Returns the error to answer. */
  refuse(listener: ClientListener, remote: string, reason: 'missing' | 'wrong'): LockstepError {
    this.#count(listener, remote, reason);
    const detail = reason === 'missing' ? 'credentials are required' : 'the credentials are wrong';
    return new LockstepError('Unauthorized', detail);
  }

  #count(listener: ClientListener, remote: string, reason: AuthFailure, who: LogFields = {}): void {
    this.#counts.child(listener, reason).value += 1;
    this.#log.event('info', 'auth.refused', { listener, remote, reason, ...who });
  }
}

function isSame(entry: Entry, { name, role, digest }: Credential): boolean {
  return entry.name === name && entry.role === role && timingSafeEqual(entry.digest, digest);
}
