/**
 * The table of messages between nodes by the state of the node that received them, and the follower of both. A message
 * counts when the receiving process has its whole header.
 */
import { headerBytes } from '../../engine/peer/wire/frames.ts';
import {
  greetingKinds,
  replyKinds,
  replyOfKind,
  requestKinds,
  requestOfKind,
} from '../../engine/peer/wire/kinds.ts';
import { clusterPorts } from '../world/cluster/node-config.ts';
import type { ConnectionEnd, ConnectionWatcher } from '../world/core/watchers.ts';
import type { World } from '../world/world.ts';
import type { Cell, CoverageTable } from './table.ts';
import { allCells } from './table.ts';

/** `restarted`: it serves again for less than `restartedUs`. */
const states = [
  'serving',
  'restarted',
  'starting',
  'stopping',
  'joining',
  'leaving',
  'left',
  'standby',
  'rebuilding',
  'store failed',
  'disowned',
] as const;
type NodeState = (typeof states)[number];

const restartedUs = 2_000_000;

const greetings = Object.keys(greetingKinds);
const requests = Object.keys(requestKinds);
const replies = Object.keys(replyKinds).map((kind) => `${kind} (reply)`);
/** Replies to requests that a node sends only while it serves clients. */
const clientWork = ['coordinated', 'transacted', 'namesListed', 'phaseMapped'].map(
  (kind) => `${kind} (reply)`,
);

/** The table. */
export const messageTable: CoverageTable = {
  name: 'messages',
  title: 'messages between nodes by the state of their receiver',
  axes: ['message', 'receiver'],
  cells: allCells([...greetings, ...requests, ...replies], states),
  excuses: [
    { where: [clientWork, ['left']], reason: 'a node that has left serves no clients' },
    {
      where: [
        ['antiEntropyAnswered (reply)', 'reapAnswered (reply)'],
        ['starting', 'left'],
      ],
      reason: 'a node compares and removes nothing before it serves, or after it has left',
    },
    {
      where: [['rangeTransferred (reply)'], ['left', 'standby', 'stopping']],
      reason: 'only members that join, leave or rebuild ask for ranges',
    },
  ],
};

/** What is under way on one direction of a connection: bytes to skip, and the begin of a header. */
interface Stream {
  skip: number;
  head: number[];
  broken: boolean;
}

const kindAt = 4;
const lengthAt = 12;

/** Follows messages and states of one run. */
export class MessageStates {
  readonly reached = new Set<string>();
  readonly cells: Cell[] = [];
  readonly #world: World;
  readonly #states = new Map<string, NodeState>();
  readonly #servingSince = new Map<string, number>();
  readonly #streams = new Map<string, Stream>();

  constructor(world: World) {
    this.#world = world;
    this.#follow();
    world.network.watch(this.#watcher());
  }

  #watcher(): ConnectionWatcher {
    return {
      opened: () => undefined,
      wrote: () => undefined,
      heard: (end, bytes) => {
        if (end.port === clusterPorts.peer) this.#heard(end, bytes);
      },
      toldEnd: () => undefined,
      left: () => undefined,
      closed: ({ id, side }) => void this.#streams.delete(`${id} ${side}`),
      connectFailed: () => undefined,
    };
  }

  /** Reads headers alone: bodies are skipped by their length. */
  #heard({ id, side, host }: ConnectionEnd, bytes: Uint8Array): void {
    const name = `${id} ${side}`;
    const stream = this.#streams.get(name) ?? { skip: 0, head: [], broken: false };
    this.#streams.set(name, stream);
    let at = 0;
    while (at < bytes.length && !stream.broken) {
      if (stream.skip > 0) {
        const skipped = Math.min(stream.skip, bytes.length - at);
        stream.skip -= skipped;
        at += skipped;
        continue;
      }
      const taken = bytes.subarray(at, at + headerBytes - stream.head.length);
      stream.head.push(...taken);
      at += taken.length;
      if (stream.head.length < headerBytes) return;
      const head = Buffer.from(stream.head);
      stream.head = [];
      stream.broken = head.toString('latin1', 0, 3) !== 'LSP';
      if (stream.broken) return;
      stream.skip = head.readUInt32BE(lengthAt);
      this.#received(host, head[kindAt] ?? 0);
    }
  }

  #received(host: string, kind: number): void {
    const state = this.#stateOf(host);
    const key = `${kind} ${state}`;
    if (this.reached.has(key)) return;
    this.reached.add(key);
    const reply = replyOfKind(kind);
    const greeting = greetings[kind - 1];
    const name = requestOfKind(kind) ?? (reply === undefined ? greeting : `${reply} (reply)`);
    if (name !== undefined) this.cells.push([name, state]);
  }

  #stateOf(host: string): NodeState {
    const state = this.#states.get(host) ?? 'starting';
    if (state !== 'serving') return state;
    const sinceUs = this.#servingSince.get(host);
    return sinceUs !== undefined && this.#world.nowUs - sinceUs < restartedUs ? 'restarted' : 'serving';
  }

  #follow(): void {
    const { trace } = this.#world;
    const become = (host: string, state: NodeState): void => void this.#states.set(host, state);
    /** A passing state ends; others stay. */
    const over = (host: string, state: NodeState): void => {
      if (this.#states.get(host) === state) become(host, 'serving');
    };
    trace.on('host.booted', ({ host }) => become(host, 'starting'));
    trace.on('node.started', ({ host }) => {
      if (this.#world.mustGetHost(host).lives > 1) this.#servingSince.set(host, this.#world.nowUs);
      over(host, 'starting');
    });
    trace.on('membership.started', ({ host, fields }) => {
      if (fields['state'] === 'JOINING') become(host, 'joining');
      if (fields['state'] === 'LEAVING') become(host, 'leaving');
      if (fields['state'] === 'STANDBY') become(host, 'standby');
    });
    trace.on('membership.move.declared', ({ host, fields }) => {
      if (fields['state'] === 'LEAVING') become(host, 'leaving');
      else if (fields['state'] === 'STANDBY') become(host, 'standby');
      else if (fields['state'] === 'NORMAL') become(host, 'serving');
    });
    trace.on('membership.left', ({ host }) => become(host, 'left'));
    trace.on('transfer.rebuild.began', ({ host }) => become(host, 'rebuilding'));
    trace.on('transfer.rebuild.done', ({ host }) => over(host, 'rebuilding'));
    trace.on('store.failed', ({ host }) => become(host, 'store failed'));
    trace.on('membership.disowned', ({ host }) => become(host, 'disowned'));
    trace.on('membership.accepted', ({ host }) => over(host, 'disowned'));
    trace.on('node.stopping', ({ host }) => become(host, 'stopping'));
  }
}
