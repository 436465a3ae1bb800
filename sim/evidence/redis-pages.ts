/**
 * What a Redis client pipelines in one go: writes, reads and echoes of a few pages, quick ones and slow ones in turn, so that
 * a reply which went to another command than its own shows. Pages are `p<n>`; what is written into one begins with its
 * name.
 */

export interface PageCommand {
  readonly kind: 'write' | 'read' | 'echo';
  readonly page: string;
  /** What is written or echoed; of a read empty. */
  readonly text: string;
}

export const pageCount = 5;
const commandCount = 14;

/** The commands of an operation: pages from `key` on, in steps of `other`. */
export function pageCommands({
  id,
  key,
  other,
}: {
  readonly id: string;
  readonly key: number;
  readonly other: number;
}): readonly PageCommand[] {
  return Array.from({ length: commandCount }, (_, index): PageCommand => {
    const page = `p${(key + index * (1 + (other % (pageCount - 1)))) % pageCount}`;
    if (index % 7 === 3) return { kind: 'echo', page, text: `echo ${id}.${index}` };
    // Reads first: they have keys of others to find.
    const writes = index % 3 === 2;
    return writes
      ? { kind: 'write', page, text: `${page} ${id}.${index}` }
      : { kind: 'read', page, text: '' };
  });
}
