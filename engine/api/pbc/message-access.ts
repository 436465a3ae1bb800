/**
 * The access that each request of the binary protocol needs, by its message. Every served request has a row, which
 * `message-access.test.ts` checks; one without a row needs admin access.
 */
import type { Access } from '../../auth/role.ts';
import { messages } from './schema.ts';

type MessageName = keyof typeof messages;

/** Access by message name. */
export const messageAccess: Readonly<Partial<Record<MessageName, Access>>> = {
  pingReq: 'open',
  authReq: 'open',
  startTlsReq: 'open',
  getClientIdReq: 'read',
  setClientIdReq: 'read',
  getServerInfoReq: 'read',
  getReq: 'read',
  putReq: 'write',
  delReq: 'write',
  listBucketsReq: 'read',
  listKeysReq: 'read',
  getBucketReq: 'read',
  setBucketReq: 'admin',
  resetBucketReq: 'admin',
  getBucketTypeReq: 'read',
  setBucketTypeReq: 'admin',
  mapRedReq: 'read',
  preflistReq: 'read',
  transactionReq: 'write',
  transactionGetReq: 'read',
  transactionListReq: 'read',
  transactionResolveReq: 'admin',
};

const byCode: ReadonlyMap<number, Access> = new Map(
  Object.entries(messages).map(([name, { code }]) => [code, messageAccess[name as MessageName] ?? 'admin']),
);

/**
 * The access that a frame's code needs. Unknown codes need `read`, so only clients with access learn that they are
 * unknown.
 */
export function accessOf(code: number): Access {
  return byCode.get(code) ?? 'read';
}

const names: ReadonlyMap<number, string> = new Map(
  Object.entries(messages).map(([name, { code }]) => [code, name]),
);

/** The messages that need the admin role, by name, and by name without the ending: the kind of their calls. */
const adminsNames: ReadonlySet<string> = new Set(
  Object.entries(messageAccess)
    .filter(([, access]) => access === 'admin')
    .flatMap(([name]) => [name, name.replace(/Req$/, '')]),
);

/**
 * Whether the message of that name, or the call of that kind, needs the admin role. Asked for every request: the kind is
 * a constant of the program, whose lookup builds no text.
 */
export function isAdmins(name: string): boolean {
  return adminsNames.has(name);
}

/** The name of a message in the schema, for logs. */
export function nameOfCode(code: number): string {
  return names.get(code) ?? `message ${code}`;
}
