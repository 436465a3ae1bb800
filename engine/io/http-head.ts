/**
 * Validates a request's head before it is handled; both implementations of the HTTP port use it. A header that is
 * dropped, truncated or joined with another one may have held a condition, a credential or the length of the body. Such
 * a request is refused, never handled by the rest of its head.
 *
 * Sources: RFC 9110, 5.3 (one line for each field that is not a list) and 7.2 (Host); RFC 9112, 3.2 and 6.1.
 */

/** A head as the HTTP implementation has parsed it. */
export interface RequestHead {
  /** `1.1` or `1.0`. */
  readonly httpVersion: string;
  /** The target as the client wrote it. */
  readonly target: string;
  /** Alternating names and values in order of arrival: all of them, or more than `linesMax` lines. */
  readonly lines: readonly string[];
  /** Names in lower case; repeated headers joined by `, `. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** The port's answer instead of the handler's; it then closes the connection. */
export interface HeadRefusal {
  readonly status: 400 | 431 | 501;
  readonly reason: string;
}

/** Headers that the product reads and that are no lists: two lines of one must not be joined. In lower case. */
const single: ReadonlySet<string> = new Set([
  'authorization',
  'content-length',
  'content-type',
  'host',
  'if-modified-since',
  'if-unmodified-since',
  'origin',
  'sec-fetch-site',
  'x-riak-clientid',
  'x-riak-if-not-modified',
  'x-riak-vclock',
]);

/** A host with an optional port (RFC 3986, 3.2.2), possibly empty: no user, no list. */
const hostForm = /^(?:\[[0-9A-Za-z:.%_~-]+\]|[^\s,/?#@[\]\\:]*)(?::[0-9]*)?$/;
const absoluteForm = /^https?:\/\/([^/?#]*)/i;

/** Why a request must be refused by its head; undefined if it may be handled. `linesMax`: most header lines. */
export function refusalOfHead(head: RequestHead, linesMax: number): HeadRefusal | undefined {
  const { lines, headers, httpVersion, target } = head;
  const count = lines.length >> 1;
  if (count > linesMax) {
    return { status: 431, reason: `the request has more than ${linesMax} header lines; send fewer` };
  }
  // Some name occurs in more than one line.
  if (Object.keys(headers).length !== count) {
    const name = repeatedSingle(lines);
    if (name !== undefined) return refusal(`the header ${name} is given more than once`);
  }
  const { host } = headers;
  if (host === undefined) {
    if (httpVersion !== '1.0') return refusal('the header Host is missing');
  } else if (typeof host !== 'string' || !hostForm.test(host)) {
    return refusal('the header Host is malformed; one host is allowed, with or without a port');
  }
  const authority = authorityOf(target);
  if (authority !== undefined && (authority === '' || !hostForm.test(authority))) {
    return refusal('the target names no host, or more than a host and a port');
  }
  return refusalOfCoding(headers, httpVersion);
}

/**
 * The host named by an absolute target; undefined for other targets. It overrides the header Host (RFC 9112, 3.2.2).
 */
export function authorityOf(target: string): string | undefined {
  if (target.startsWith('/')) return undefined;
  return absoluteForm.exec(target)?.[1];
}

/**
 * The target without scheme and host. A server must accept the absolute form that clients send to proxies (RFC 9112,
 * 3.2.2).
 */
export function originOf(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = target.replace(absoluteForm, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** The path of a target, still percent-encoded. */
export function pathOf(target: string): string {
  const origin = originOf(target);
  const queryAt = origin.indexOf('?');
  return queryAt < 0 ? origin : origin.slice(0, queryAt);
}

function refusal(reason: string): HeadRefusal {
  return { status: 400, reason };
}

function refusalOfCoding(headers: RequestHead['headers'], httpVersion: string): HeadRefusal | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (httpVersion === '1.0') return refusal('HTTP/1.0 knows no Transfer-Encoding');
  if (headers['content-length'] !== undefined) {
    return refusal('Content-Length and Transfer-Encoding are both given; one is allowed');
  }
  if (String(coding).trim().toLowerCase() === 'chunked') return undefined;
  return { status: 501, reason: 'no transfer coding but chunked is understood' };
}

function repeatedSingle(lines: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at] ?? '';
    const lower = name.toLowerCase();
    if (!single.has(lower)) continue;
    if (seen.has(lower)) return name;
    seen.add(lower);
  }
  return undefined;
}
