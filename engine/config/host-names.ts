/** The names of hosts as which a node lets itself be addressed. */
import type { ValueKind } from './values.ts';
import { listOf, parsedText } from './values.ts';

/** `auto`: as the listener's address suggests. Names are in lower case. */
export type HostNames = readonly string[] | 'auto' | 'any';

const nameForm = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*$/;

const names = listOf(
  parsedText('a host name without a port', (given) => {
    const name = given.toLowerCase();
    return nameForm.test(name) ? name : undefined;
  }),
  100,
);

export const hostNames: ValueKind<HostNames> = {
  allowed: `auto, any, or ${names.allowed}`,
  read(given, path, report) {
    if (given === 'auto' || given === 'any') return { value: given };
    return names.read(given, path, (at, problem) => report(at, `${problem}, or auto, or any`));
  },
};
