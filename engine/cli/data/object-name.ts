/** Names of objects on the command line, and their paths in the HTTP interface. */
import type { Command } from 'commander';

import type { ByteString } from '../../base/ids.ts';
import { UsageError } from '../exit-codes.ts';

/** One object. The default type is `default`. */
export interface ObjectName {
  readonly type: string;
  readonly bucket: string;
  readonly key: string;
}

/** Where the words of a command look for objects. */
export interface PlaceOptions {
  readonly type?: string;
  readonly bucket?: string;
}

/** The bucket type without a name. */
export const defaultTypeName = 'default';

/** Adds these options to a command. */
export function withPlace(command: Command): Command {
  return command
    .option('-t, --type <type>', 'the bucket type (default unless given)')
    .option('-b, --bucket <bucket>', 'the bucket, if its name has a slash; the argument is then the key alone');
}

/** `BUCKET/KEY`, divided at the first slash; the whole text is the key if `--bucket` is given. */
export function objectNameOf(text: string, { type = defaultTypeName, bucket }: PlaceOptions): ObjectName {
  if (bucket !== undefined) return named({ type, bucket, key: text }, text);
  const slash = text.indexOf('/');
  if (slash === -1) throw new UsageError(`${text} names no key; write BUCKET/KEY, or --bucket BUCKET KEY`);
  return named({ type, bucket: text.slice(0, slash), key: text.slice(slash + 1) }, text);
}

function named(name: ObjectName, text: string): ObjectName {
  if (name.bucket !== '' && name.key !== '') return name;
  throw new UsageError(`${JSON.stringify(text)}: neither the bucket nor the key may be empty; write BUCKET/KEY`);
}

/** The path of an object. */
export function objectPath({ type, bucket, key }: ObjectName): string {
  return `${bucketPath(type, bucket)}/keys/${encodeURIComponent(key)}`;
}

/** The path of a bucket. */
export function bucketPath(type: string, bucket: string): string {
  return `${typePath(type)}/buckets/${encodeURIComponent(bucket)}`;
}

/** The path of a bucket type; empty for the default type. */
export function typePath(type: string): string {
  return type === defaultTypeName ? '' : `/types/${encodeURIComponent(type)}`;
}

/** A name as part of a path, byte by byte, since it need not be UTF-8. */
export function bytesInPath(name: ByteString): string {
  return name.replace(
    /[^A-Za-z0-9._~-]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
