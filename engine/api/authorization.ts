/**
 * Parses the Authorization header of HTTP: `Bearer TOKEN` (RFC 6750), and `Basic` with a credential's name and its
 * token (RFC 7617), which Riak's clients send. `auth/gate.ts` checks what it yields.
 */

/** The credentials that a client sent, not yet checked. */
export interface GivenCredentials {
  readonly token: string | Uint8Array;
  /** The credential's name; absent with `Bearer`. */
  readonly name?: string;
}

/** Characters. A longer header cannot hold a credential of this product. */
const headerLengthMax = 4096;

/** The credentials in the value of an Authorization header; undefined if it has another form or is too long. */
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

/** Parses base64 of `name:token`. The token is everything after the first colon. */
function namedPair(words: string): GivenCredentials | undefined {
  const bytes = Buffer.from(words, 'base64');
  const colon = bytes.indexOf(':');
  if (colon < 0) return undefined;
  return { name: bytes.toString('utf8', 0, colon), token: bytes.subarray(colon + 1) };
}
