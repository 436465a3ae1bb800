/** Parses and formats addresses for node:net: `host:port`, with IPv6 hosts in brackets. */
import { assert } from '../base/assert.ts';
import type { Address } from '../io/network.ts';

/** The parts of an address; an IPv6 host stands without brackets. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const addressForm = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]]+)):([0-9]{1,5})$/;

/**
 * The parts of an address. Throws `AssertionError` for text that is no address: configuration is validated where it is
 * read.
 */
export function hostPortOf(address: Address): HostPort {
  const parts = addressForm.exec(address);
  const host = parts?.[1] ?? parts?.[2];
  const port = Number(parts?.[3]);
  assert(host !== undefined && port <= 0xffff, `${address} is an address`);
  return { host, port };
}

/** The address of one end of a socket; `unknown:0` if the socket is gone and no longer knows it. */
export function addressOf(host: string | undefined, port: number | undefined): Address {
  if (host === undefined || port === undefined) return 'unknown:0';
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
