/**
 * Detects requests that a browser sent for a page of another site. Every page that a user opens can reach a listener on
 * loopback. A form or a `no-cors` fetch arrives without a preflight, and could write, or make the node leave the
 * cluster. Clients that are not browsers send neither header.
 *
 * Sources: Fetch Metadata Request Headers (`Sec-Fetch-Site`), RFC 6454, 7 (`Origin`).
 */
import type { HttpRequest } from '../io/http.ts';

/** The request comes from the listener's own page, or the user typed the address. */
const ownSites: readonly string[] = ['same-origin', 'none'];

/** The other site as the browser names it, for error texts; undefined for programs and for pages of this listener. */
export function otherSiteOf(headers: HttpRequest['headers']): string | undefined {
  const { origin, host } = headers;
  const relation = headers['sec-fetch-site'];
  if (relation !== undefined) return ownSites.includes(relation) ? undefined : (origin ?? relation);
  if (origin === undefined) return undefined;
  return isOf(origin, host) ? undefined : origin;
}

/** Whether the origin is this host. `null` (a sandboxed page) and anything else that is no URL belongs to no host. */
function isOf(origin: string, host: string | undefined): boolean {
  const own = `http://${host ?? ''}`;
  return URL.canParse(origin) && URL.canParse(own) && new URL(origin).host === new URL(own).host;
}
