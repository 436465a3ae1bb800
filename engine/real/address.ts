/** Addresses as node:net takes them: `host:port` with IPv6 hosts in brackets. */
import { assert } from '../base/assert.ts';
import type { Address } from '../io/network.ts';

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const addressForm = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]]+)):([0-9]{1,5})$/;

/** The parts of an address. An address that is none is the caller's bug: configuration is checked where it is read. */
export function hostPortOf(address: Address): HostPort {
  const parts = addressForm.exec(address);
  const host = parts?.[1] ?? parts?.[2];
  const port = Number(parts?.[3]);
  assert(host !== undefined && port <= 0xffff, `${address} is an address`);
  return { host, port };
}

/** The address of a socket's end; what is not known (the socket is gone) is said so. */
export function addressOf(host: string | undefined, port: number | undefined): Address {
  if (host === undefined || port === undefined) return 'unknown:0';
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
