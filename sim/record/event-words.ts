/** Says in words what an event of the trace is that a node logged: `n2 syncs the prepare record of t3`. Pure. */
import type { Mark } from './recording.ts';

/** What a node does; `%field` is the value of a field, and a clause whose field is missing is left out. */
const clauses: Readonly<Record<string, string>> = {
  'xa.c.begin': 'begins transaction %xid|with the branches %branches',
  'xa.c.prepare.sent': 'asks|%to|to prepare %xid',
  'xa.attempt.repeated': 'tries again what %xid was to do',
  'xa.c.vote.recv': 'receives the vote|%vote|of %from|on %xid',
  'xa.c.decision.beforeLog': 'decides %xid|(%decision)',
  'xa.c.decision.written': 'writes the decision of %xid, not yet synced',
  'xa.c.decision.synced': 'syncs the decision of %xid',
  'xa.c.commit.sent': 'tells|%to|the decision of %xid',
  'xa.c.ack.recv': 'learns that|%from|has applied %xid',
  'xa.c.indoubt.written': 'writes that %xid is in doubt',
  'xa.c.tombstone.written': 'writes that %xid is finished',
  'xa.c.forget': 'forgets transaction %xid',
  'xa.p.prepare.recv': 'is asked to prepare %xid',
  'xa.p.locks.taken': 'locks the keys of %xid',
  'xa.p.prepareRec.written': 'writes the prepare record of %xid, not yet synced',
  'xa.p.prepareRec.synced': 'syncs the prepare record of %xid',
  'xa.p.vote.sent': 'sends its vote|%vote|on %xid',
  'xa.p.decision.recv': 'learns the decision|%decision|of %xid',
  'xa.p.apply.partial': 'begins to apply %xid',
  'xa.p.applied': 'has applied %xid, not yet synced',
  'xa.p.applied.synced': 'syncs the writes of %xid',
  'xa.p.ack.sent': 'acknowledges %xid|(level met: %met)',
  'xa.p.locks.released': 'unlocks the keys of %xid',
  'xa.p.recovery.scan': 'reads its log of prepared branches|and finds %xid',
  'disk.file.synced': 'syncs the file %what',
  'disk.name.unsynced': 'has not synced the directory of %what since it renamed that file|at %since s',
  'host.booted': 'starts|(incarnation %life)',
  'host.crashed': 'dies|(incarnation %life)',
  'host.stopped': 'has stopped',
  'host.paused': 'stands still',
  'host.resumed': 'runs on',
  'assertion.failed': 'meets a failed assertion:|%detail',
  'store.opened': 'opens its %directory|with %keyCount keys|(torn tails: %tornTails)',
  'store.tail.cut': 'cuts the torn end of its log',
  'store.damage.found': 'finds damage in its store',
  'store.segments.merged': 'merges segments of its store',
  'store.merge.refused': 'does not merge segments of its store|(%detail)',
  'store.segment.kept': 'sets a damaged segment aside|as %path',
  'store.request.refused': 'refuses a %kind of its store|(%outcome)',
  'dispatch.read.holds': 'admits a read of %bytes bytes|with %held bytes held',
  'dispatch.read.gaveBack': 'gives back %bytes bytes of a read|with %held bytes held',
  'wasm.called': 'calls a module as %role',
  'wasm.call.failed': 'calls a module as %role, which fails|(%failure)',
  'aae.snapshot.loaded': 'accepts a saved hash tree as current',
  'aae.snapshot.rejected': 'rejects a saved hash tree|(%reason)',
  'aae.snapshot.saved': 'saves its hash tree',
  'aae.leaf.refuted': 'finds that a leaf of its hash tree is not what its store makes it|(segment %segment)',
  'aae.key.diverged': 'finds that %key differs from|%peer|: %outcome',
  'aae.exchange.started': 'compares hash trees with %peer',
  'aae.exchange.finished':
    'has compared hash trees with %peer|(leaves listed: %listed, divergent: %divergent)',
  'aae.exchange.aborted': 'breaks off its comparison with %peer|(%detail)',
  'peer.link.refused.here': 'refuses the link of %peer|(%detail)',
  'peer.link.refused': 'is refused by %peer|(%detail)',
  'peer.request.dropped': 'does not send %kind|to %peer|(its channel: %outcome)',
  'dispatch.peer.refused': 'cannot send %kind|to %peer|(its channel: %outcome)',
  'dispatch.tombstone.reaped': 'reaps a tombstone',
  'replica.context.pruned': 'prunes %entries of the context of %key|(entries left: %left)',
  'peer.reply.mismatched': 'receives an answer of %peer that it no longer waits for',
  'api.request.slow': 'takes %ms ms for a %operation|in %bucket',
  'xa.branch.learned': 'learns by inquiry that %xid is %outcome',
  'xa.branch.resolving': 'is asked by an operator to %decision its branch of %xid',
  'xa.branch.decided': 'ends its branch of %xid as an operator decided|(%decision)',
  'xa.branch.conflicted': 'finds %key locked by %holder for %xid',
  'xa.branch.refused': 'refuses to prepare %xid|(%reason)',
  'xa.branch.lost': 'learns that %node has lost its branch of %xid|(sent again: %redone)',
  'xa.id.fenced':
    'asks the owners to rule out every attempt under the id %client, after its abort of %xid: %verdict',
  'backup.writes.held': 'holds its writes back for the backup %id',
  'backup.writes.resumed': 'lets its writes go on after the backup %id',
  'backup.segments.pinned': 'keeps its files of this moment for the backup %id',
  'props.flushed': 'flushes buckets|(buckets: %buckets, members that have it: %holders)',
  'redis.subscriber.dropped': 'drops the subscriber %remote|(bytes that wait for it: %pendingBytes)',
  'xa.branch.concluded': 'concludes its branch of %xid|(vote: %vote)',
  'membership.left': 'has left the cluster',
  'membership.join.waiting': 'waits with its join|(%detail)',
  'membership.move.declared': 'declares a ring change|(%state)|%move',
  'membership.record.refused': 'refuses what it hears of the member %peer|(reason: %reason)',
  'membership.disowned': 'learns from %by that it is no member of the cluster',
  'membership.ring.changed': 'changes its ring|to the members %members',
  'membership.peer.left': 'takes %peer for one that has left',
  'membership.peer.state.changed': 'calls %peer %to|(before: %from)',
  'transfer.done': 'has handed its ranges over',
  'hint.expired': 'drops a hint that expired',
  'node.stopping': 'begins to stop',
  'node.stopped': 'has stopped in order',
};

/** The event in words, without the node: `syncs the prepare record of n4-ab-2`. Unknown events keep their fields. */
export function deedOf({ kind, text }: Pick<Mark, 'kind' | 'text'>): string {
  if (kind === 'fault') return struckBy(text);
  const [name = '', ...rest] = text.split(' ');
  const clause = clauses[/ by=refused here\b/.test(text) ? `${name}.here` : name];
  const asLogged = `logs ${text.length > 140 ? `${text.slice(0, 140)}…` : text}`;
  if (clause === undefined) return asLogged;
  const fields = fieldsOf(rest.join(' '));
  const lacksField = (part: string): boolean =>
    [...part.matchAll(/%(\w+)/g)].some(([, name = '']) => (fields.get(name) ?? '') === '');
  // Its first part is what the node does.
  if (lacksField(clause.split('|', 1)[0] ?? '')) return asLogged;
  const parts = clause.split('|').flatMap((part) => {
    if (lacksField(part)) return [];
    return [part.replace(/%(\w+)/g, (_, name: string) => fields.get(name) ?? '')];
  });
  return parts.join(' ').replaceAll(' :', ':');
}

/** `f0: at 1.184 s n1 loses power` as `is struck by f0 (n1 loses power)`: the moment stands before the deed. */
function struckBy(text: string): string {
  const [, id = '', what = ''] = /^(\w+): (?:at [\d.]+ s )?(.*)$/s.exec(text) ?? [];
  return `is struck by ${id} (${what.length > faultMax ? `${what.slice(0, faultMax)}…` : what})`;
}

/** Most characters of a fault within another sentence. */
const faultMax = 80;

/** `name=value` pairs; a value may contain spaces. */
export function fieldsOf(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const [, name = '', value = ''] of text.matchAll(/(\w+)=(.*?)(?= \w+=|$)/g)) fields.set(name, value);
  return fields;
}

/** Events that happen in every run and tell nothing about what went wrong. */
const everyday =
  /^(peer\.(inbound|plane|link\.(connected|lost|failed))|node\.started|membership\.started|store\.segment\.rotated|store\.closed|aae\.exchange\.(started|finished)|membership\.peer\.state|host\.stopped|node\.stopp|aae\.snapshot\.saved)/;

/** Whether a node refuses something, gives it up, or has left undone what it must do. */
export function isRefusal(text: string): boolean {
  return /^disk\.name\.unsynced |^[a-z.A-Z]+\.(refused|rejected|abandoned|unresolved|gaveUp|mismatched|held|dropped)( |$)/.test(
    text,
  );
}

/** Whether an event tells nothing by itself about what went wrong. */
export function isEveryday(text: string): boolean {
  return everyday.test(text);
}
