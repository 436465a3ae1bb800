/**
 * Reads and changes the credentials file (its format: `auth/credentials.ts`). A change keeps the comments that people
 * wrote in the file, and is atomic: a new, synced file replaces the old one.
 */
import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

import type { Credential } from '../../auth/credentials.ts';
import { credentialLine, credentialsBytesMax, parseCredentials } from '../../auth/credentials.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeConfig } from '../../config/config.ts';
import { UsageError } from '../exit-codes.ts';
import { readSecretFile } from './secret-files.ts';

const heading = `# Who may come in: name, role (read, write, admin), SHA-256 of the token. Made by \`lockstep credentials\`.
`;

/**
 * The credentials of the file that the configuration names; undefined if it names none. Throws `ConfigInvalid`, also
 * for a file without a credential: a node with such a file could authenticate no client, operators included.
 */
export function credentialsOf(configFile: string, config: NodeConfig): readonly Credential[] | undefined {
  if (config.credentials === undefined) return undefined;
  const file = resolve(dirname(configFile), config.credentials);
  const credentials = readCredentials(file);
  if (credentials.length > 0) return credentials;
  const detail = `${file}: it holds no credential, so nobody could come in; add one with "lockstep credentials add ${file} NAME --role admin"`;
  throw new LockstepError('ConfigInvalid', detail);
}

/** All credentials of the file. Throws `ConfigInvalid`. */
export function readCredentials(file: string): readonly Credential[] {
  return parseCredentials(textOf(file), file);
}

/** Adds a credential; makes the file if it is missing. Throws `UsageError` if the name is taken. */
export function addCredential(file: string, credential: Credential): void {
  const text = existsSync(file) ? textOf(file) : heading;
  if (parseCredentials(text, file).some(({ name }) => name === credential.name)) {
    throw new UsageError(
      `${file} has a credential ${credential.name} already; remove it first, or take another name`,
    );
  }
  const whole = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${credentialLine(credential)}\n`;
  parseCredentials(whole, file);
  replaceFile(file, whole);
}

/** Removes a credential. Throws `UsageError` if the file has none of that name. */
export function removeCredential(file: string, name: string): void {
  const text = textOf(file);
  const known = parseCredentials(text, file);
  if (!known.some((credential) => credential.name === name)) {
    const names = known.map((credential) => credential.name).join(', ');
    throw new UsageError(`${file} has no credential ${name}; it has: ${names === '' ? 'none' : names}`);
  }
  const lines = text.split('\n').filter((line) => line.trim().split(/\s+/)[0] !== name);
  replaceFile(file, lines.join('\n'));
}

function textOf(file: string): string {
  return readSecretFile(file, credentialsBytesMax, 'credentials').toString('utf8');
}

/**
 * Replaces the file durably. The new file has the mode and the owner of the old one, since the node may run as another user
 * of the file's group.
 */
function replaceFile(file: string, text: string): void {
  const directory = dirname(file);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const old = statSync(file, { throwIfNoEntry: false });
  const fresh = `${file}.new`;
  synced(openSync(fresh, 'w', 0o600), (handle) => {
    if (old !== undefined) {
      fchmodSync(handle, old.mode & 0o777);
      keepOwner(handle, old);
    }
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length;) at += writeSync(handle, bytes, at);
  });
  renameSync(fresh, file);
  // A removed credential must not come back after a power loss. Windows opens no directories.
  if (process.platform !== 'win32') synced(openSync(directory, 'r'), () => undefined);
}

function synced(handle: number, write: (handle: number) => void): void {
  try {
    write(handle);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Only a privileged user may give a file away; for others the file stays theirs. */
function keepOwner(handle: number, { uid, gid }: { readonly uid: number; readonly gid: number }): void {
  try {
    fchownSync(handle, uid, gid);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) throw error;
  }
}
