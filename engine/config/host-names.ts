/** Parses the host names that the HTTP and statistics listeners accept in requests (`client_hosts`). */
import type { ValueKind } from './values.ts';
import { listOf, parsedText } from './values.ts';

/** A list of names in lower case; `any`; or `auto`, which depends on the listener's address. */
export type HostNames = readonly string[] | 'auto' | 'any';

const nameForm = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*$/;

const names = listOf(
  parsedText('a host name without a port', (given) => {
    const name = given.toLowerCase();
    return nameForm.test(name) ? name : undefined;
  }),
  100,
);

/** `auto`, `any`, or a list of at most 100 host names without ports. */
export const hostNames: ValueKind<HostNames> = {
  allowed: `auto, any, or ${names.allowed}`,
  read(given, path, report) {
    if (given === 'auto' || given === 'any') return { value: given };
    return names.read(given, path, (at, problem) => report(at, `${problem}, or auto, or any`));
  },
};
