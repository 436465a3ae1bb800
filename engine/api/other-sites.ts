/**
 * Whether a browser sent a request for a page of another site. A listener on loopback is open to every page that its
 * user looks at: a form or a `no-cors` fetch reaches it without asking first, and would write, or make the node leave.
 * Programs that are no browsers send neither header.
 *
 * Sources: Fetch Metadata Request Headers (`Sec-Fetch-Site`), RFC 6454, 7 (`Origin`).
 */
import type { HttpRequest } from '../io/http.ts';

/** From the same page, or typed by its user. */
const ownSites: readonly string[] = ['same-origin', 'none'];

/** The other site as the browser names it, for people; undefined for programs and pages of this listener's own address. */
export function otherSiteOf(headers: HttpRequest['headers']): string | undefined {
  const { origin, host } = headers;
  const relation = headers['sec-fetch-site'];
  if (relation !== undefined) return ownSites.includes(relation) ? undefined : (origin ?? relation);
  if (origin === undefined) return undefined;
  return isOf(origin, host) ? undefined : origin;
}

/** `null` (a sandboxed page), and what else is no address, is of nobody. */
function isOf(origin: string, host: string | undefined): boolean {
  const own = `http://${host ?? ''}`;
  return URL.canParse(origin) && URL.canParse(own) && new URL(origin).host === new URL(own).host;
}
