/**
 * Who may come in. One gate per node stands before all client listeners; it knows the credentials, and counts and tells
 * whom it turned away. What each route, message and command asks for stands in the listeners' own tables.
 *
 * Tokens are compared by their digests, in constant time, with every credential that there is: how long it takes tells
 * neither how much of a token was right nor whose it nearly was. No token, and no name that somebody merely gave, is
 * logged, counted or put into an answer: people type a token where the name belongs.
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

export type ClientListener = 'http' | 'pb' | 'redis' | 'stats';

/** `missing`: it gave no credentials; `wrong`: none that are known; `forbidden`: its role is too small. */
export type AuthFailure = 'missing' | 'wrong' | 'forbidden';

const listeners: readonly ClientListener[] = ['http', 'pb', 'redis', 'stats'];
const failures: readonly AuthFailure[] = ['missing', 'wrong', 'forbidden'];

/** Somebody whose token was right. */
export interface Identity {
  readonly name: string;
  readonly role: Role;
  /** The credential is no longer among those of the node: whoever came in by it is nobody now. */
  readonly revoked: boolean;
}

interface Entry extends Credential {
  revoked: boolean;
}

/** Redis's clients send the first when they are given a password alone, others the second. */
const nameless: readonly string[] = ['default', ''];

export class Gate {
  readonly family: FamilySource;
  readonly #log: Log;
  readonly #counts = new LabelledFamily({
    name: 'svc_auth_failures_total',
    help: 'Requests that were turned away, by listener: no credentials, wrong ones, or a role that does not suffice.',
    type: 'counter',
    labels: ['listener', 'reason'],
  });
  #entries: readonly Entry[] | undefined;

  /** `credentials` undefined: the gate stands open, and everybody may do everything. */
  constructor(log: Log, credentials: readonly Credential[] | undefined) {
    this.#log = log;
    this.family = this.#counts;
    for (const listener of listeners) for (const reason of failures) this.#counts.child(listener, reason);
    if (credentials !== undefined) this.replace(credentials);
  }

  get open(): boolean {
    return this.#entries === undefined;
  }

  /** From now on these hold. Who came in by one that is still among them stays; the others are revoked. */
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

  /** Whose token this is; undefined for nobody's, or not that name's. Without a name any credential will do. */
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
   * Lets `identity` do what asks for `needed`, or throws `Unauthorized` (nobody, or revoked) or `Forbidden`, having
   * counted and told it.
   */
  admit(listener: ClientListener, remote: string, identity: Identity | undefined, needed: Access): void {
    if (this.#entries === undefined || needed === 'open') return;
    if (identity === undefined || identity.revoked) throw this.refuse(listener, remote, 'missing');
    const { name, role } = identity;
    if (mayUse(role, needed)) return;
    this.#count(listener, remote, 'forbidden', { name });
    throw new LockstepError('Forbidden', `${name} has the role ${role}; this asks for ${needed}`);
  }

  /** Counts and tells that somebody without credentials is turned away; the error to answer with. */
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
