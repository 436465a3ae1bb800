/**
 * What each request of the binary protocol asks of who sends it, by its message. Every request that is served has a row
 * (message-access.test.ts); one without is refused as if it asked for the most.
 */
import type { Access } from '../../auth/role.ts';
import { messages } from './schema.ts';

type MessageName = keyof typeof messages;

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

/** By the frame's code; codes that nobody serves ask for `read`, so that only who may come in is told so. */
export function accessOf(code: number): Access {
  return byCode.get(code) ?? 'read';
}
