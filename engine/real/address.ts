/** Parses and formats addresses for node:net: `host:port`, with IPv6 hosts in brackets. */
import { LockstepError } from '../base/errors.ts';
import type { Address } from '../io/network.ts';

/** The parts of an address; an IPv6 host stands without brackets. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const addressForm = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]]+)):([0-9]{1,5})$/;

/**
 * The parts of an address. Throws `BadRequest` for text that is not an address: a peer may have sent it.
 */
export function hostPortOf(address: Address): HostPort {
  const parts = addressForm.exec(address);
  const host = parts?.[1] ?? parts?.[2];
  const port = Number(parts?.[3]);
  if (host === undefined || port > 0xffff)
    throw new LockstepError('BadRequest', `${JSON.stringify(address)} is not an address; it is host:port`);
  return { host, port };
}

/** The address of one end of a socket; `unknown:0` if the socket is gone and no longer knows it. */
export function addressOf(host: string | undefined, port: number | undefined): Address {
  if (host === undefined || port === undefined) return 'unknown:0';
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
