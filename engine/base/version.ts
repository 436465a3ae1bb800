/** The product's version; a test holds it against package.json. */
export const version = '0.1.0';

/** What HTTP answers name themselves by. */
export const serverName = `Lockstep/${version}`;

/**
 * The Riak whose features this product has. Riak's clients choose what they use by the server's version: they are told
 * this one, and the product's own beside it.
 */
export const riakVersion = '2.2.3';
