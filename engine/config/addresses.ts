/**
 * Parses addresses in the configuration: `host:port`, where the host is a name, an IPv4 address, or an IPv6 address in
 * brackets.
 */
import type { Address } from '../io/network.ts';
import type { ValueKind } from './values.ts';
import { parsedText } from './values.ts';

const addressForm = /^(?:([A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}))|\[([0-9A-Fa-f:.]{2,45})\]):([0-9]{1,5})$/;

interface AddressParts {
  readonly host: string;
  readonly port: number;
}

/** Host (without brackets) and port of an address; undefined if the text is not an address. */
export function splitAddress(address: string): AddressParts | undefined {
  const match = addressForm.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > 65535 ? undefined : { host, port };
}

/** Whether only this machine can reach the address: `localhost`, 127.0.0.0/8, `[::1]`. */
export function isLoopback(address: Address): boolean {
  const host = usualHostOf(address);
  if (host === undefined) return false;
  return host === 'localhost' || host === '[::1]' || /^127(\.[0-9]{1,3}){3}$/.test(host);
}

function parseAddress(given: string, portMin: number): Address | undefined {
  const parts = splitAddress(given);
  return parts !== undefined && parts.port >= portMin ? given : undefined;
}

/** The address of another node. */
export const remoteAddress: ValueKind<Address> = parsedText(
  'host:port with a port from 1 to 65535',
  (given) => parseAddress(given, 1),
);

/** An address on which this node listens; port 0 takes any free port. */
export const listenAddress: ValueKind<Address> = parsedText(
  'host:port with a port from 0 (any free one) to 65535',
  (given) => parseAddress(given, 0),
);

/** The address at which other nodes reach this one. `auto` reads as undefined: the address of its own listener. */
export const advertisedAddress: ValueKind<Address | undefined> = {
  allowed: `${remoteAddress.allowed}, or auto`,
  read(given, path, report) {
    if (given === 'auto') return { value: undefined };
    return remoteAddress.read(given, path, (at, problem) => report(at, `${problem}, or auto`));
  },
};

/** Whether the address stands for every address of the machine; other machines cannot connect to it. */
export function isWildcard(address: Address): boolean {
  const host = usualHostOf(address);
  return host === '0.0.0.0' || host === '[::]';
}

/** The host in its usual spelling: an IPv6 address in brackets, shortened; an IPv4 address with four parts. */
function usualHostOf(address: Address): string | undefined {
  if (splitAddress(address) === undefined) return undefined;
  const url = `http://${address}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** An address on which this node listens; `off` reads as undefined. */
export const optionalAddress: ValueKind<Address | undefined> = {
  allowed: `${listenAddress.allowed}, or off`,
  read(given, path, report) {
    if (given === 'off') return { value: undefined };
    return listenAddress.read(given, path, (at, problem) => report(at, `${problem}, or off`));
  },
};
