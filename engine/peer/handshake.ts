/**
 * What every greeting is checked for, from the greetings alone. Pure. Whether the node is a member, and lives the life
 * that it should, is asked of the plane's `Admission`.
 */
import type { Refusal, RefusalReason } from './wire/greetings.ts';
import type { Hello } from './wire/messages.ts';
import type { PeerTarget } from './options.ts';

/** Why `theirs` is refused, or undefined. `called` is whom this node meant to reach; undefined for a caller. */
export function checkHello(ours: Hello, theirs: Hello, called: PeerTarget | undefined): Refusal | undefined {
  if (theirs.clusterId !== ours.clusterId) {
    return refusal('cluster', `cluster id ${quote(theirs.clusterId)}; this is ${quote(ours.clusterId)}`);
  }
  if (theirs.node === ours.node) {
    return refusal('identity', `node ${theirs.node} has this node's own name`);
  }
  if (called !== undefined && theirs.node !== called.node) {
    return refusal('identity', `node ${theirs.node} answers where node ${called.node} should be`);
  }
  return undefined;
}

function refusal(reason: RefusalReason, detail: string): Refusal {
  return { kind: 'refusal', reason, detail };
}

function quote(text: string): string {
  return JSON.stringify(text);
}
