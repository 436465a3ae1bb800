/** Which operations wrote the values that a text shows. Pure. */
import type { RecordedOperation, Recording } from './recording.ts';

/**
 * The indices of the operations whose values stand in the text: `«w:x3:t73.0»` is of the transaction `#t73` of x3,
 * `«w:c2:13»` of a put of c2.
 */
export function writersOf(
  text: string,
  operations: readonly RecordedOperation[],
  { lanes }: Pick<Recording, 'lanes'>,
): readonly number[] {
  const tags = [...text.matchAll(/«w:(\w+):(t?\d+)/g)];
  const wrote = ({ id, lane, text: own }: RecordedOperation): boolean =>
    tags.some(([tag, client = '', number = '']) =>
      number.startsWith('t')
        ? id === `#${number}` && lanes[lane]?.name === client
        : own.includes(' put ') && own.includes(`${tag}»`),
    );
  return operations.flatMap((one, at) => (wrote(one) ? [at] : []));
}
