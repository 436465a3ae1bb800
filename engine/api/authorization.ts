/**
 * The Authorization header of HTTP: `Bearer TOKEN` (RFC 6750), and `Basic` with a credential's name and its token (RFC
 * 7617), which is what Riak's clients send.
 */

/** What a client gave to be known by. */
export interface GivenCredentials {
  readonly token: string | Uint8Array;
  /** Absent where the form has none. */
  readonly name?: string;
}

/** Longer headers hold no credentials of ours. */
const headerLengthMax = 4096;

/** Undefined for a header of another form. */
export function readAuthorization(header: string): GivenCredentials | undefined {
  if (header.length > headerLengthMax) return undefined;
  const [, scheme = '', words = ''] = /^ *([A-Za-z]+) +([A-Za-z0-9._~+/-]+=*) *$/.exec(header) ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
      return { token: words };
    case 'basic':
      return namedPair(words);
    default:
      return undefined;
  }
}

/** `name:token` in base64; the token is everything behind the first colon. */
function namedPair(words: string): GivenCredentials | undefined {
  const bytes = Buffer.from(words, 'base64');
  const colon = bytes.indexOf(':');
  if (colon < 0) return undefined;
  return { name: bytes.toString('utf8', 0, colon), token: bytes.subarray(colon + 1) };
}
