/** Which messages a node sends for an operation, where several operations on one key overlap. Pure. */
import type { Message, RecordedOperation, Recording } from './recording.ts';

/**
 * The messages about the operation's keys that pass from its beginning to `endUs`. Of several operations that ask one
 * node about one key at the same time, a message that this node sends is the last begun one's, and so is its answer.
 */
export function messagesFor(run: Recording, one: RecordedOperation, endUs: number): readonly Message[] {
  const isAbout = ({ about }: Pick<Message, 'about'>): boolean =>
    about.some((key) => one.about.includes(key));
  const laterUs = run.operations
    .filter(
      (other) =>
        other.node === one.node &&
        other.invokedUs > one.invokedUs &&
        other.invokedUs <= endUs &&
        isAbout(other),
    )
    .map((other) => ({ fromUs: other.invokedUs, toUs: other.completedUs < 0 ? endUs : other.completedUs }));
  const isOthers = (sentUs: number): boolean =>
    laterUs.some(({ fromUs, toUs }) => sentUs >= fromUs && sentUs <= toUs);
  const within = run.messages.filter(
    (message) => message.sentUs >= one.invokedUs && message.sentUs <= endUs && isAbout(message),
  );
  const own = within.filter(({ from, sentUs }) => from === one.node && !isOthers(sentUs));
  // An answer follows what it answers.
  const answers = within.filter(
    ({ from, to, sentUs }) =>
      to === one.node &&
      own.some((asked) => asked.to === from && asked.arrivedUs >= 0 && asked.arrivedUs <= sentUs),
  );
  return [...own, ...answers].toSorted((left, right) => left.sentUs - right.sentUs);
}
