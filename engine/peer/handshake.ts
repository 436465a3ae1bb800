/**
 * Checks that every greeting must pass, by the two greetings alone. Pure. The plane's `Admission` decides whether the
 * node is a member in an incarnation that may connect.
 */
import type { Refusal, RefusalReason } from './wire/greetings.ts';
import type { Hello } from './wire/messages.ts';
import { commonVersion, rangeText } from './wire/versions.ts';
import type { PeerTarget } from './options.ts';

/**
 * Why the greeting `theirs` is refused; undefined if it passes. `called`: the peer that this node meant to reach;
 * undefined for an inbound connection.
 */
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
  if (commonVersion(ours.messages, theirs.messages) === undefined) {
    const [here, there] = [rangeText(ours.messages), rangeText(theirs.messages)];
    return refusal(
      'version',
      `node ${theirs.node} (${theirs.version}) speaks ${there} of peer messages; node ${ours.node} (${ours.version}) speaks ${here}`,
    );
  }
  return undefined;
}

function refusal(reason: RefusalReason, detail: string): Refusal {
  return { kind: 'refusal', reason, detail };
}

function quote(text: string): string {
  return JSON.stringify(text);
}
