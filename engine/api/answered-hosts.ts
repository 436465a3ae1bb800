/**
 * Decides under which host names an HTTP listener answers, by a request's `Host` header. This is the defence against
 * DNS rebinding: a page gives its own name the address 127.0.0.1 after a browser has loaded it. The browser then takes
 * this listener for the page's own site and sends no sign of another one (`http-guard.ts`). Only the `Host` header
 * still holds the page's name. Addresses and `localhost` belong to no page, and clients that send no `Host` header are
 * not browsers.
 *
 * Sources: RFC 9110, 7.2; Jackson et al., "Protecting Browsers from DNS Rebinding Attacks" (CCS 2007), 5.
 */
import type { Gate } from '../auth/gate.ts';

/** Host names in lower case. `auto` answers any name unless the listener is on loopback and asks for no credentials. */
type HostNames = readonly string[] | 'auto' | 'any';

/** The host before the port; an IPv6 address is in brackets. */
const hostForm = /^(\[[0-9a-f:.]+\]|[^:[\]]*)(?::[0-9]*)?$/;
/** An IP address. No host name ends in a number (RFC 3696, 2). */
const addressForm = /^\[|^[0-9.]+$/;

/** The host names of one HTTP listener: `client_hosts` of the configuration, IP addresses and `localhost`. */
export class AnsweredHosts {
  readonly #names: HostNames;
  readonly #gate: Pick<Gate, 'open'>;
  readonly #onLoopback: boolean;
  /** The last accepted header. A client sends the same one with every request, so most checks end here. */
  #last: string | undefined;

  constructor(names: HostNames, onLoopback: boolean, gate: Pick<Gate, 'open'>) {
    this.#names = names;
    this.#gate = gate;
    this.#onLoopback = onLoopback;
  }

  /**
   * Whether the listener answers a request with this `Host` header; undefined: the request has none, and is answered.
   */
  includes(header: string | undefined): boolean {
    if (header === undefined || header === this.#last || this.#isAny()) return true;
    const host = hostForm.exec(header.toLowerCase())?.[1]?.replace(/\.$/, '');
    if (host === undefined) return false;
    const own = addressForm.test(host) || host === 'localhost' || host.endsWith('.localhost');
    if (!own && (this.#names === 'auto' || !this.#names.includes(host))) return false;
    this.#last = header;
    return true;
  }

  #isAny(): boolean {
    if (this.#names === 'auto') return !this.#onLoopback || !this.#gate.open;
    return this.#names === 'any';
  }
}
