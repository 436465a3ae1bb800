/** Reads the token that commands send to a node: from a file or from the environment, never from the command line. */
import { tokenBytesMax } from '../../auth/credentials.ts';
import { tokenVariable } from '../../config/config-key.ts';
import { UsageError } from '../exit-codes.ts';
import { readSecretFile } from './secret-files.ts';

/** The token in the file, which must be its only line. The file's mode is checked like that of a private key. */
export function readTokenFile(file: string): string {
  const text = readSecretFile(file, tokenBytesMax + 2, 'token')
    .toString('utf8')
    .trim();
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new UsageError(`${file}: a token is one line of printable characters without spaces`);
}

/** The token from `--token-file`, else from LOCKSTEP_TOKEN; undefined if neither is given. */
export function tokenFrom(file: string | undefined, environment: NodeJS.ProcessEnv): string | undefined {
  if (file !== undefined) return readTokenFile(file);
  const token = environment[tokenVariable]?.trim();
  return token === '' ? undefined : token;
}
