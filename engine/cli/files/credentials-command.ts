/** `lockstep credentials add|list|remove`: maintains the credentials file of a node. */
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';

import { foldedHelp } from '../help-text.ts';
import type { CredentialLimits } from '../../auth/credentials.ts';
import {
  digestOf,
  isCredentialName,
  limitFields,
  parseLimits,
  tokenBytesMax,
  tokenBytesMin,
} from '../../auth/credentials.ts';
import type { Role } from '../../auth/role.ts';
import { roles } from '../../auth/role.ts';
import { addCredential, readCredentials, removeCredential } from './credentials-file.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes, UsageError } from '../exit-codes.ts';
import { readTokenFile } from './node-token.ts';
import { table } from '../terminal.ts';

const helpAfter = `
Examples:
  lockstep credentials add secrets/credentials shop --role write > shop.token
  lockstep credentials add secrets/credentials till --role write --bucket 'shop:*' --rate 200 --burst 500 > till.token
  lockstep credentials list secrets/credentials
  lockstep credentials remove secrets/credentials shop

The node's configuration names the file (credentials: secrets/credentials); a running node reads it again at SIGHUP.
Roles: read; write (and read); admin (and all the rest: bucket properties, modules, leaving the cluster).
A token is shown once, when it is made; the file keeps its SHA-256. To change one, add it under another name, give it
to the clients, then remove the old one.
A credential may be limited: to buckets (shop:* is every bucket whose name begins with shop:; sessions/* every bucket of
the type sessions), and to requests a second at each node. A limited admin changes properties of its buckets alone.`;

/** Adds the command `credentials` with its subcommands. `finish` gets the exit code. */
export function addCredentialsCommand(program: Command, finish: (code: ExitCode) => void): void {
  const command = program
    .command('credentials')
    .description('the credentials file, which says which clients have access')
    .addHelpText('after', foldedHelp(helpAfter));
  command
    .command('add')
    .argument('<file>', 'the credentials file; made where there is none, with its directory')
    .argument('<name>', 'a name: 1 to 64 of A-Z a-z 0-9 _ . -')
    .requiredOption('--role <role>', `one of ${roles.join(', ')}`)
    .option(
      '--bucket <rule...>',
      'only these buckets: BUCKET or TYPE/BUCKET; * at the end of a name is any rest',
    )
    .option('--rate <n>', 'at most so many requests a second at each node')
    .option('--burst <n>', 'so many requests at once; default: as many as --rate')
    .option('--token-file <file>', 'take the token from this file instead of making one')
    .description('add a credential, and print its token, this once')
    .action((file: string, name: string, options: AddOptions) => {
      add(file, name, options);
      finish(exitCodes.done);
    });
  command
    .command('list')
    .argument('<file>', 'the credentials file')
    .option('--json', 'print one line of JSON')
    .description('names, roles and limits')
    .action((file: string, { json = false }: { readonly json?: boolean }) => {
      list(file, json);
      finish(exitCodes.done);
    });
  command
    .command('remove')
    .argument('<file>', 'the credentials file')
    .argument('<name>', 'whose it is')
    .description('take a credential away')
    .action((file: string, name: string) => {
      removeCredential(file, name);
      console.error(`${name} is removed; a running node knows it after SIGHUP`);
      finish(exitCodes.done);
    });
}

interface AddOptions {
  readonly role: string;
  readonly tokenFile?: string;
  readonly bucket?: readonly string[];
  readonly rate?: string;
  readonly burst?: string;
}

function limitsOf({ bucket = [], rate, burst }: AddOptions): CredentialLimits {
  const limits = parseLimits([
    ...bucket.map((rule) => `bucket=${rule}`),
    ...(rate === undefined ? [] : [`rate=${rate}`]),
    ...(burst === undefined ? [] : [`burst=${burst}`]),
  ]);
  if (typeof limits === 'string') throw new UsageError(limits);
  return limits;
}

function add(file: string, name: string, options: AddOptions): void {
  if (!isCredentialName(name))
    throw new UsageError(`the name ${name}: allowed: 1 to 64 of A-Z a-z 0-9 _ . -`);
  const role = mustBeRole(options.role);
  const { tokenFile } = options;
  const token = tokenFile === undefined ? randomBytes(32).toString('base64url') : readTokenFile(tokenFile);
  if (token.length < tokenBytesMin || token.length > tokenBytesMax) {
    throw new UsageError(
      `a token of ${token.length} characters: allowed: ${tokenBytesMin} to ${tokenBytesMax}`,
    );
  }
  const limits = limitsOf(options);
  addCredential(file, { name, role, digest: digestOf(token), ...limits });
  // Only the token goes to stdout, so that the operator can redirect it into a file.
  if (tokenFile === undefined) console.log(token);
  const within = limitFields(limits);
  const may = role === 'admin' && limits.buckets === undefined ? 'do everything' : role;
  console.error(`${name} may ${[may, ...within].join(', ')}; a running node knows it after SIGHUP`);
}

function mustBeRole(given: string): Role {
  const role = roles.find((one) => one === given);
  if (role === undefined) throw new UsageError(`the role ${given}: allowed: ${roles.join(', ')}`);
  return role;
}

function list(file: string, json: boolean): void {
  const known = readCredentials(file);
  if (json) {
    const shown = known.map(({ name, role, buckets, rate }) => ({
      ...{ name, role },
      ...(buckets === undefined ? {} : { buckets: buckets.map(({ text }) => text) }),
      ...(rate === undefined ? {} : { rate: rate.perSecond, burst: rate.burst }),
    }));
    console.log(JSON.stringify(shown));
    return;
  }
  const rows = known.map((one) => [one.name, one.role, limitFields(one).join(' ')]);
  console.log(table([['name', 'role', 'limits'], ...rows]));
}
