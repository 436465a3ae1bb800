/** Answers a peer's request that takes time: as a task, exactly once. */
import { asLockstepError } from '../../base/errors.ts';
import type { Io } from '../../io/io.ts';
import type { PeerReply } from './messages.ts';

/**
 * Runs `work` as a task of that name, and replies once: with what it resolves with, or with the failure that it rejects
 * with. `work` must copy what it needs of the request's bytes before its first `await`; they live as long as this call.
 */
export function answerInTask(
  io: Pick<Io, 'spawn'>,
  task: string,
  reply: (reply: PeerReply) => void,
  work: () => Promise<PeerReply>,
): void {
  io.spawn(task, async () => {
    let answer: PeerReply;
    try {
      answer = await work();
    } catch (error) {
      const { code, message: detail } = asLockstepError(error);
      answer = { kind: 'failed', code, detail };
    }
    reply(answer);
  });
}
