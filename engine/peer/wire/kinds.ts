/**
 * The kinds of frames: one number per message, in every frame's header. Numbers are never reused and never change their
 * meaning. 1 to 15 are greetings, 16 to 63 requests, 64 to 111 replies; the rest is free. A peer that sends an unknown
 * number is disconnected, so a new message needs a new version (versions.ts, wire-version.test.ts).
 */
import type { PeerReply, PeerRequest } from './messages.ts';

/** Numbers of greetings. */
export const greetingKinds = { hello: 1, refusal: 2 } as const;

/** Numbers of requests. */
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
  pubsub: 50,
  upgrade: 51,
  mergeMany: 35,
  readMany: 36,
} as const satisfies Record<PeerRequest['kind'], number>;

/** Numbers of replies. */
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
  pubsubAnswered: 98,
  upgradeAnswered: 99,
  mergedMany: 82,
  readManyAnswered: 83,
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
  pubsub: 'pubsubAnswered',
  upgrade: 'upgradeAnswered',
  mergeMany: 'mergedMany',
  readMany: 'readManyAnswered',
};

/** True if the reply answers this request: its own kind of answer, or `failed`. */
export function isAnswer(request: PeerRequest['kind'], reply: PeerReply['kind']): boolean {
  return reply === 'failed' || answers[request] === reply;
}

const requestNames = namesOf(requestKinds);
const replyNames = namesOf(replyKinds);

/** The request with that number; undefined for any other number. */
export function requestOfKind(kind: number): PeerRequest['kind'] | undefined {
  return requestNames[kind];
}

/** The reply with that number; undefined for any other number. */
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

/** True if a frame may have this number. */
export function isKnownKind(kind: number): boolean {
  return known.has(kind);
}

/** True for a number in the range of requests, known or not. */
export function isRequestKind(kind: number): boolean {
  return kind >= 16 && kind < 64;
}

/** True for a number in the range of replies, known or not. */
export function isReplyKind(kind: number): boolean {
  return kind >= 64 && kind < 112;
}
