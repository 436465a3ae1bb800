/** The product's version; a test compares it with package.json. */
export const version = '0.1.0';

/** Value of the `Server` header of HTTP answers. */
export const serverName = `Lockstep/${version}`;

/**
 * The Riak version whose features this product has. Riak's clients choose features by the server's version: they get
 * this one, with the product's own version beside it.
 */
export const riakVersion = '2.2.3';
