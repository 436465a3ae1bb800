/**
 * Authenticates clients and authorizes their requests. A node has one gate for all client listeners. It holds the
 * credentials, and counts and logs refusals. The listeners' own tables state the access that each route, message and
 * command needs.
 *
 * A token's digest is compared in constant time with every credential. The duration thus reveals neither how much of a
 * token was right nor whose it nearly was. Tokens and unverified names are never logged, counted or put into an answer:
 * people type tokens where a name belongs.
 */
import { timingSafeEqual } from 'node:crypto';
import { LockstepError } from '../base/errors.ts';
import type { Log, LogFields } from '../io/log.ts';
import type { FamilySource } from '../metrics/family.ts';
import { LabelledFamily } from '../metrics/labelled-family.ts';
import type { Credential } from './credentials.ts';
import { digestOf, tokenBytesMax } from './credentials.ts';
import type { Access, Role } from './role.ts';
import { mayUse } from './role.ts';

/** The client listeners, as they appear in metrics and logs. */
export type ClientListener = 'http' | 'pb' | 'redis' | 'stats';

/** `missing`: no credentials given; `wrong`: no known credential; `forbidden`: the role does not suffice. */
export type AuthFailure = 'missing' | 'wrong' | 'forbidden';

const listeners: readonly ClientListener[] = ['http', 'pb', 'redis', 'stats'];
const failures: readonly AuthFailure[] = ['missing', 'wrong', 'forbidden'];

/** An authenticated client. */
export interface Identity {
  readonly name: string;
  readonly role: Role;
  /** Set once the credential has been removed; the client of an open connection then counts as unauthenticated. */
  readonly revoked: boolean;
}

interface Entry extends Credential {
  revoked: boolean;
}

/** Names that stand for none: Redis clients with only a password send the first, other clients the second. */
const nameless: readonly string[] = ['default', ''];

/** The gate of one node. */
export class Gate {
  /** `svc_auth_failures_total`, for registration with `NodeStats`. */
  readonly family: FamilySource;
  readonly #log: Log;
  readonly #counts = new LabelledFamily({
    name: 'svc_auth_failures_total',
    help: 'Requests that were turned away, by listener: no credentials, wrong ones, or a role that does not suffice.',
    type: 'counter',
    labels: ['listener', 'reason'],
  });
  #entries: readonly Entry[] | undefined;

  /** If `credentials` is undefined, the gate is open: every client may do everything. */
  constructor(log: Log, credentials: readonly Credential[] | undefined) {
    this.#log = log;
    this.family = this.#counts;
    for (const listener of listeners) for (const reason of failures) this.#counts.child(listener, reason);
    if (credentials !== undefined) this.replace(credentials);
  }

  /** Whether no credentials are configured. */
  get open(): boolean {
    return this.#entries === undefined;
  }

  /** Replaces the credentials at once. Clients whose credential remains stay authenticated; the others are revoked. */
  replace(credentials: readonly Credential[]): void {
    const kept = new Set<Entry>();
    const before = this.#entries ?? [];
    this.#entries = credentials.map((credential) => {
      const same = before.find((entry) => isSame(entry, credential));
      const entry = same ?? { ...credential, revoked: false };
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
   * Checks that `identity` may do what needs `needed`. Throws `Unauthorized` (unauthenticated or revoked) or
   * `Forbidden`, after counting and logging the refusal.
   */
  admit(listener: ClientListener, remote: string, identity: Identity | undefined, needed: Access): void {
    if (this.#entries === undefined || needed === 'open') return;
    if (identity === undefined || identity.revoked) throw this.refuse(listener, remote, 'missing');
    const { name, role } = identity;
    if (mayUse(role, needed)) return;
    this.#count(listener, remote, 'forbidden', { name });
    throw new LockstepError('Forbidden', `${name} has the role ${role}; this asks for ${needed}`);
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
