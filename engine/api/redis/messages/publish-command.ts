/** PUBLISH and SPUBLISH within a transaction or a script: the message is noted (`notes.ts`). */
import { present } from '../../../base/assert.ts';
import { integerReply } from '../replies.ts';
import type { Apply } from '../value-commands.ts';
import { messageOf } from './message.ts';

/** PUBLISH, SPUBLISH: the reply is the number of this node's subscribers; the caller may know more later. */
export const publish: Apply = (_set, request, { notes, valueBytesMax }) =>
  integerReply(present(notes, 'the messages of a step').add(messageOf(request, valueBytesMax)));
