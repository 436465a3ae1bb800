/**
 * Follows what nodes do wrong in starts that serve (`input-robustness`):
 *
 * - A node must know every member that its member file names, by an incarnation at least as new. Else it would admit a
 *   process with that member's name and an empty disk, or know too few of the members to reach the others.
 * - A store's directory must be synced before a name in it is changed. Else a power loss may undo a change of the last
 *   incarnation, such as a new manifest, on which the change of this one depends.
 * - A hash tree's file that the start gives up must be gone durably before the node serves. Else it may come back after
 *   the store has written records with the numbers of those that it lost, and the tree counts those as known.
 * - A store that is moved aside loses its manifest first, durably. Else a power loss may leave the manifest with only some
 *   of the files that it names, and the next start opens what it should have moved aside.
 * - A start that the disk refuses to read a log cuts nothing from it. The unread bytes may be acknowledged records, so the
 *   start has to give up.
 */
import { decodeGossip } from '../../engine/cluster/membership/gossip-codec.ts';
import { LockstepError } from '../../engine/base/errors.ts';
import { manifestName } from '../../engine/storage/log/file-names.ts';
import type { Trace, TraceEvent } from '../world/core/trace.ts';

/** What a start did wrong. */
export interface WrongStart {
  readonly node: string;
  readonly life: number;
  readonly atUs: number;
  readonly text: string;
}

/** The name of the member file. */
const memberFile = 'members';
/** The magic and the checksum before the body of that file. */
const headBytes = 12;
/** The directories of the stores. */
const stores: readonly string[] = ['store', 'hints'];
/** The directory of the hash tree's file. */
const treeDirectory = 'aae';
/** What the name of a file ends with that was moved aside. */
const aside = '.unread';

/** The starts of the named hosts. */
export class ServedStarts {
  readonly wrong: WrongStart[] = [];
  readonly #lifeOf: (host: string) => number;
  /** By host, the incarnation number of each member that its file named when the host was booted. */
  readonly #named = new Map<string, ReadonlyMap<string, number>>();
  /** Hosts whose member file a fault has altered. */
  readonly #altered = new Set<string>();
  /** Directories, as `n1:hints`, that the host's incarnation has synced. */
  readonly #synced = new Set<string>();
  /** Directories whose manifest was moved aside, not yet durably. */
  readonly #undurable = new Set<string>();
  /** Files, as `n1:store/00000001.log`, of which the disk has refused the host's incarnation a read. */
  readonly #refused = new Set<string>();
  /** By host, the name in the hash tree's directory that the start has changed, not yet durably. */
  readonly #tree = new Map<string, string>();

  /** `fileOf`: the bytes of a host's file that every crash would leave; undefined without one. */
  constructor(
    trace: Pick<Trace, 'on'>,
    lifeOf: (host: string) => number,
    fileOf: (host: string, path: string) => Uint8Array | undefined,
  ) {
    this.#lifeOf = lifeOf;
    trace.on('host.booted', ({ host }) => {
      for (const places of [this.#synced, this.#undurable, this.#refused])
        for (const place of [...places]) if (place.startsWith(`${host}:`)) places.delete(place);
      this.#tree.delete(host);
      const bytes = this.#altered.has(host) ? undefined : fileOf(host, memberFile);
      this.#named.set(host, bytes === undefined ? new Map() : generationsIn(bytes));
    });
    trace.on('membership.started', (event) => {
      this.#compare(event);
      const path = this.#tree.get(event.host);
      if (path !== undefined)
        this.#report(event, `serves before it is durable that it gave up the hash tree (${path})`);
    });
    trace.on('store.tail.cut', (event) => {
      const path = String(event.fields['path']);
      if (this.#refused.has(`${event.host}:${path}`))
        this.#report(event, `cuts the end of ${path}, of which the disk has refused it a read`);
    });
    // The disk refused it, or refused to make it durable.
    trace.on('aae.snapshot.kept', ({ host }) => void this.#tree.delete(host));
    trace.on('disk.name.renamed', (event) => {
      this.#renames(event);
      this.#changes(event);
    });
    trace.on('disk.name.removed', (event) => this.#changes(event));
    trace.on('disk.directory.synced', ({ host, fields }) => {
      const place = `${host}:${String(fields['what'])}`;
      this.#synced.add(place);
      this.#undurable.delete(place);
      if (fields['what'] === treeDirectory) this.#tree.delete(host);
    });
  }

  /** A fault has altered the file at the path; the empty path: the whole disk. */
  altered(host: string, path: string): void {
    if (path === '' || path === memberFile || path === `${memberFile}.new`) this.#altered.add(host);
  }

  /** The disk has refused the host's incarnation to read the file at the path. */
  refusedRead(host: string, path: string): void {
    this.#refused.add(`${host}:${path}`);
  }

  #compare(event: TraceEvent): void {
    const { host } = event;
    const known = new Map(String(event.fields['members']).split(' ').map(pairOf));
    for (const [node, generation] of this.#named.get(host) ?? []) {
      const found = known.get(node) ?? 0;
      // The node's own number is that of its identity file.
      if (found >= generation || this.#altered.has(host) || node === host) continue;
      const text = `knows ${node} as incarnation ${found}, and its member file names ${generation}`;
      this.#report(event, text);
    }
  }

  #report({ host, atUs }: TraceEvent, text: string): void {
    this.wrong.push({ node: host, life: this.#lifeOf(host), atUs, text });
  }

  #changes(event: TraceEvent): void {
    const { host } = event;
    const path = String(event.fields['what']);
    if (directoryOf(path) === treeDirectory) this.#tree.set(host, path);
    const place = `${host}:${directoryOf(path)}`;
    if (!stores.includes(directoryOf(path)) || this.#synced.has(place)) return;
    // One report of each incarnation is enough.
    this.#synced.add(place);
    this.#report(event, `changes the name ${path} before the names that it found there are durable`);
  }

  #renames(event: TraceEvent): void {
    const path = String(event.fields['what']);
    if (!path.endsWith(aside)) return;
    const place = `${event.host}:${directoryOf(path)}`;
    if (path === `${directoryOf(path)}/${manifestName}${aside}`) this.#undurable.add(place);
    else if (this.#undurable.has(place))
      this.#report(event, `moves ${path} aside before it is durable that the manifest is moved`);
  }
}

function directoryOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function pairOf(text: string): [string, number] {
  const at = text.lastIndexOf('=');
  return [text.slice(0, at), Number(text.slice(at + 1))];
}

/** The incarnation number of each node that a member file names; none for bytes that are no such file. */
function generationsIn(bytes: Uint8Array): ReadonlyMap<string, number> {
  try {
    const { records } = decodeGossip(bytes.subarray(headBytes));
    return new Map(records.map(({ node, generation }) => [node, generation]));
  } catch (error) {
    if (error instanceof LockstepError) return new Map();
    throw error;
  }
}
