/** `lockstep certificates`: makes a throw-away CA and certificates signed by it, to try TLS on one machine. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';

import { foldedHelp } from '../help-text.ts';
import { parseNodeId } from '../../base/ids.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes, UsageError } from '../exit-codes.ts';

const helpAfter = `
Example:
  lockstep certificates secrets n1 n2 n3

writes secrets/ca.pem, and for each node NAME.pem and NAME.key, as tls and peer_tls want them. They hold for localhost,
127.0.0.1 and ::1, and for 30 days; the CA's key is not kept, so nobody can add a node to it. A real cluster takes the
certificates of a CA of its own.`;

/** Adds the command `certificates`. `finish` gets the exit code. */
export function addCertificatesCommand(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('certificates')
    .argument('<directory>', 'where they are written; made where there is none')
    .argument('<name...>', 'the nodes’ names')
    .description('make a throw-away CA and certificates for nodes on this machine')
    .addHelpText('after', foldedHelp(helpAfter))
    .action(async (directory: string, names: readonly string[]) => {
      await makeCertificates(directory, names);
      finish(exitCodes.done);
    });
}

async function makeCertificates(directory: string, names: readonly string[]): Promise<void> {
  const strange = names.find((name) => parseNodeId(name) === undefined);
  if (strange !== undefined) {
    throw new UsageError(`the name ${strange}: allowed: 1 to 64 of A-Z a-z 0-9 _ . -`);
  }
  const authorityFile = join(directory, 'ca.pem');
  if (existsSync(authorityFile)) {
    throw new UsageError(`${authorityFile} is there already; remove it, or take another directory`);
  }
  // The certificate library is large, so it is loaded only when certificates are made.
  const { ThrowAwayAuthority } = await import('./throw-away-certificates.ts');
  const authority = await ThrowAwayAuthority.make();
  mkdirSync(directory, { recursive: true });
  for (const name of names) {
    const { cert, key } = await authority.issue(name);
    writeFileSync(join(directory, `${name}.pem`), cert);
    writeFileSync(join(directory, `${name}.key`), key, { mode: 0o600 });
  }
  writeFileSync(authorityFile, authority.pem);
  console.log(`${authorityFile}, and ${names.map((name) => `${name}.pem, ${name}.key`).join(', ')}`);
}
