/**
 * What a frame may carry: one number per message, written in every frame's header. Numbers are never reused and never
 * change their meaning; 1..15 greet, 16..63 ask, 64..111 answer, the rest is free. A peer that sends a number that is
 * not here is cut off, so a new message comes with a new `wireVersion` (wire-version.test.ts).
 */
import type { PeerReply, PeerRequest } from './messages.ts';

export const greetingKinds = { hello: 1, refusal: 2 } as const;

export const requestKinds = {
  ping: 16,
  readObject: 17,
  mergeObject: 18,
  coordinateWrite: 19,
  gossip: 20,
  mergeBatch: 32,
  transact: 33,
  antiEntropy: 34,
  transferRange: 40,
  wasmModules: 56,
  listNames: 44,
  properties: 48,
  mapPhase: 45,
  reap: 49,
  keepHint: 21,
} as const satisfies Record<PeerRequest['kind'], number>;

export const replyKinds = {
  pong: 64,
  object: 65,
  written: 66,
  coordinated: 67,
  failed: 68,
  gossiped: 69,
  transacted: 80,
  antiEntropyAnswered: 81,
  rangeTransferred: 88,
  wasmModulesAnswered: 104,
  namesListed: 92,
  propertiesAnswered: 96,
  phaseMapped: 93,
  reapAnswered: 97,
} as const satisfies Record<PeerReply['kind'], number>;

const answers: Readonly<Record<PeerRequest['kind'], PeerReply['kind']>> = {
  ping: 'pong',
  readObject: 'object',
  mergeObject: 'written',
  coordinateWrite: 'coordinated',
  gossip: 'gossiped',
  mergeBatch: 'written',
  transact: 'transacted',
  antiEntropy: 'antiEntropyAnswered',
  transferRange: 'rangeTransferred',
  wasmModules: 'wasmModulesAnswered',
  listNames: 'namesListed',
  properties: 'propertiesAnswered',
  mapPhase: 'phaseMapped',
  reap: 'reapAnswered',
  keepHint: 'written',
};

/** The reply answers this request: its own kind of answer, or `failed`. */
export function isAnswer(request: PeerRequest['kind'], reply: PeerReply['kind']): boolean {
  return reply === 'failed' || answers[request] === reply;
}

const requestNames = namesOf(requestKinds);
const replyNames = namesOf(replyKinds);

/** The request of that number; undefined for any other number. */
export function requestOfKind(kind: number): PeerRequest['kind'] | undefined {
  return requestNames[kind];
}

/** The reply of that number; undefined for any other number. */
export function replyOfKind(kind: number): PeerReply['kind'] | undefined {
  return replyNames[kind];
}

/** The names by their numbers. */
function namesOf<Name extends string>(kinds: Readonly<Record<Name, number>>): readonly (Name | undefined)[] {
  const names: (Name | undefined)[] = [];
  for (const name of Object.keys(kinds) as Name[]) names[kinds[name]] = name;
  return names;
}

const known: ReadonlySet<number> = new Set([
  ...Object.values(greetingKinds),
  ...Object.values(requestKinds),
  ...Object.values(replyKinds),
]);

export function isKnownKind(kind: number): boolean {
  return known.has(kind);
}

export function isRequestKind(kind: number): boolean {
  return kind >= 16 && kind < 64;
}

export function isReplyKind(kind: number): boolean {
  return kind >= 64 && kind < 112;
}
