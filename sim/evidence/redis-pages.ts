/**
 * The commands that a Redis client pipelines in one operation: writes, reads and echoes of a few pages, fast and slow
 * ones in turn, so that a reply that answers another command than its own shows. Pages are `p<n>`; a value written to a
 * page begins with the page's name.
 */

/** One pipelined command. */
export interface PageCommand {
  readonly kind: 'write' | 'read' | 'echo';
  readonly page: string;
  /** The text to write or echo; empty for a read. */
  readonly text: string;
}

/** How many pages there are. */
export const pageCount = 5;
const commandCount = 14;

/** The commands of one operation: pages from `key` on, in steps derived from `other`. */
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
    // Reads come first, so that they find what other operations wrote.
    const writes = index % 3 === 2;
    return writes
      ? { kind: 'write', page, text: `${page} ${id}.${index}` }
      : { kind: 'read', page, text: '' };
  });
}
