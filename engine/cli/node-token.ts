/** The token that commands show to a node: from a file, or from the environment; never from the command line. */
import { tokenBytesMax } from '../auth/credentials.ts';
import { tokenVariable } from '../config/key-names.ts';
import { UsageError } from './exit-codes.ts';
import { readSecretFile } from './secret-files.ts';

/** The file's first line. Its mode is checked as a key's is. */
export function readTokenFile(file: string): string {
  const text = readSecretFile(file, tokenBytesMax + 2, 'token')
    .toString('utf8')
    .trim();
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new UsageError(`${file}: a token is one line of printable characters without spaces`);
}

/** From `--token-file`, or else from LOCKSTEP_TOKEN; undefined for neither. */
export function tokenFrom(file: string | undefined, environment: NodeJS.ProcessEnv): string | undefined {
  if (file !== undefined) return readTokenFile(file);
  const token = environment[tokenVariable]?.trim();
  return token === '' ? undefined : token;
}
