/**
 * As whom an HTTP listener lets itself be addressed. A page may give its own name the address 127.0.0.1 after a browser
 * has loaded it ("DNS rebinding"): the browser then takes this listener for the page's own site, and asks here without a
 * word of another one (other-sites.ts). Only the `Host` header still has the page's name. Addresses and `localhost`
 * belong to no page, and programs that send no such header are no browsers.
 *
 * Sources: RFC 9110, 7.2; Jackson et al., "Protecting Browsers from DNS Rebinding Attacks" (CCS 2007), 5.
 */
import type { Gate } from '../auth/gate.ts';

/** In lower case; `auto` wards pages off where they could get at something. */
type HostNames = readonly string[] | 'auto' | 'any';

/** The host before a port; an IPv6 address is in brackets. */
const hostForm = /^(\[[0-9a-f:.]+\]|[^:[\]]*)(?::[0-9]*)?$/;
/** No name ends in a number (RFC 3696, 2). */
const addressForm = /^\[|^[0-9.]+$/;

export class AnsweredHosts {
  readonly #names: HostNames;
  readonly #gate: Pick<Gate, 'open'>;
  readonly #onLoopback: boolean;
  /** The last one that was right: a client's requests have all the same. */
  #last: string | undefined;

  constructor(names: HostNames, onLoopback: boolean, gate: Pick<Gate, 'open'>) {
    this.#names = names;
    this.#gate = gate;
    this.#onLoopback = onLoopback;
  }

  /** Whether a request with this `Host` header is for this listener. */
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
