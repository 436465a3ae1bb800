/**
 * Holds the state of one connection's client: its identity, its permissions and its client id. It also answers the
 * calls that need nothing else.
 */
import type { Identity } from '../../auth/gate.ts';
import type { Permit } from '../../auth/permit.ts';
import type { LockstepError } from '../../base/errors.ts';
import { RiakRefusal } from './call-texts.ts';
import type { QuickCall } from './call-order.ts';
import type { AuthCall } from './calls.ts';
import { accessOf, isAdmins } from './message-access.ts';
import type { PbcDependencies } from './object-calls.ts';
import { messages } from './schema.ts';

/** The client id that Riak reports until the client sets one. */
const noClientId: Uint8Array = new Uint8Array(4);

/** The client of one connection. `remote` is its address, for the gate's log. */
export class Caller {
  readonly #parts: Pick<PbcDependencies, 'gate' | 'serverInfo'>;
  readonly #remote: string;
  #clientId = noClientId;
  #identity: Identity | undefined;

  constructor(parts: PbcDependencies, remote: string) {
    this.#parts = parts;
    this.#remote = remote;
  }

  /** Answers a call that needs nothing that is stored. */
  answer(call: Exclude<QuickCall, AuthCall>): Buffer {
    switch (call.kind) {
      case 'ping':
        return messages.pingResp.encode({});
      case 'getServerInfo': {
        const { node, version } = this.#parts.serverInfo;
        return messages.getServerInfoResp.encode({
          node: Buffer.from(node),
          server_version: Buffer.from(version),
        });
      }
      case 'getClientId':
        return messages.getClientIdResp.encode({ client_id: this.#clientId });
      case 'setClientId':
        this.#clientId = call.clientId;
        return messages.setClientIdResp.encode({});
    }
  }

  /** Throws `Unauthorized` or `Forbidden` if the client may not send this message. Only the code has been looked at. */
  admit(code: number): void {
    const { gate } = this.#parts;
    if (!gate.open) gate.admit('pb', this.#remote, this.#identity, accessOf(code));
  }

  /** What the client may reach. */
  get permit(): Permit {
    return this.#parts.gate.permitOf('pb', this.#remote, this.#identity);
  }

  /** Logs a message if it needs the admin role. `outcome`: `done`, or the code of the error. */
  audit(what: string, outcome: string): void {
    if (!isAdmins(what)) return;
    const identity = this.#identity;
    this.#parts.gate.audit({ listener: 'pb', remote: this.#remote, identity, what, outcome });
  }

  /**
   * Checks a password. Undefined if it is right; otherwise the error to answer with, and whether it ends the
   * connection.
   */
  authenticate({
    user,
    password,
  }: AuthCall): { readonly error: LockstepError; readonly ends: boolean } | undefined {
    const { gate } = this.#parts;
    if (gate.open) {
      return { error: new RiakRefusal('BadRequest', 'Security not enabled'), ends: false };
    }
    this.#identity = gate.identify(password, user);
    if (this.#identity !== undefined) return undefined;
    gate.refuse('pb', this.#remote, 'wrong');
    return { error: new RiakRefusal('Unauthorized', 'Authentication failed'), ends: true };
  }
}
