/** The logical databases that SELECT chooses from, each with a bucket of its own. */
import type { ByteString } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';

/** As many as Redis has if its configuration states none. */
export const databaseCount = 16;

/** The bucket of a database: that of database 0, and for the others its name with `:` and the number. */
export function bucketOfDatabase(first: ByteString, index: number): ByteString {
  return index === 0 ? first : ((first + byteStringOf(`:${index}`)) as ByteString);
}
