/**
 * The trace of a run: every event of the world and every event that the engine logs, in order. All of it goes into the
 * digest, to listeners by name, and on request to a recorder as readable lines. Neither listeners nor the recorder
 * change the digest.
 */
import type { LogFields, LogLevel } from '../../../engine/io/log.ts';
import { Digest } from './digest.ts';

/** An event as listeners see it: of the engine's log (`level` is defined), or of the world (`disk.file.synced`). */
export interface TraceEvent {
  readonly atUs: number;
  /** `''` for the world's own events. */
  readonly host: string;
  readonly name: string;
  readonly level: LogLevel | undefined;
  readonly fields: LogFields;
}

/** Called within the event; what it throws is a failure of the world. It may crash the host that the event is about. */
export type TraceListener = (event: TraceEvent) => void;

/** A listener's registration. */
export interface Subscription {
  cancel(): void;
}

/** A kind of event of the world: its number in the digest, its name, and the meaning of its two numbers. */
interface WorldEventRow {
  readonly id: number;
  readonly name: string;
  readonly details: readonly [a: string, b: string];
}

/** The world's own events. A row's id is part of every digest: append only. */
export const worldEvents = {
  worldActed: { id: 1, name: 'world.acted', details: ['', ''] },
  worldNoted: { id: 2, name: 'world.noted', details: ['', ''] },
  engineLogged: { id: 3, name: 'engine.logged', details: ['fields', ''] },
  hostBooted: { id: 4, name: 'host.booted', details: ['life', ''] },
  hostCrashed: { id: 5, name: 'host.crashed', details: ['life', ''] },
  hostStopped: { id: 6, name: 'host.stopped', details: ['life', ''] },
  hostPaused: { id: 7, name: 'host.paused', details: ['life', ''] },
  hostResumed: { id: 8, name: 'host.resumed', details: ['life', 'held'] },
  taskFailed: { id: 9, name: 'task.failed', details: ['life', ''] },
  timerFired: { id: 10, name: 'clock.timer.fired', details: ['', ''] },
  listened: { id: 20, name: 'net.listened', details: ['port', ''] },
  connected: { id: 21, name: 'net.connected', details: ['connection', 'port'] },
  connectFailed: { id: 22, name: 'net.connect.failed', details: ['port', ''] },
  accepted: { id: 23, name: 'net.accepted', details: ['connection', 'port'] },
  delivered: { id: 24, name: 'net.delivered', details: ['connection', 'bytes'] },
  ended: { id: 25, name: 'net.ended', details: ['connection', ''] },
  closed: { id: 26, name: 'net.closed', details: ['connection', 'reason'] },
  drained: { id: 27, name: 'net.drained', details: ['connection', ''] },
  stalled: { id: 28, name: 'net.stalled', details: ['connection', 'bytes'] },
  fileOpened: { id: 40, name: 'disk.file.opened', details: ['file', ''] },
  fileRead: { id: 41, name: 'disk.file.read', details: ['file', 'bytes'] },
  fileWritten: { id: 42, name: 'disk.file.written', details: ['file', 'bytes'] },
  fileSynced: { id: 43, name: 'disk.file.synced', details: ['file', 'bytes'] },
  fileTruncated: { id: 44, name: 'disk.file.truncated', details: ['file', 'length'] },
  nameRenamed: { id: 45, name: 'disk.name.renamed', details: ['file', ''] },
  nameRemoved: { id: 46, name: 'disk.name.removed', details: ['file', ''] },
  directoryMade: { id: 47, name: 'disk.directory.made', details: ['', ''] },
  directorySynced: { id: 48, name: 'disk.directory.synced', details: ['names', ''] },
  diskLooked: { id: 49, name: 'disk.looked', details: ['', ''] },
  diskLocked: { id: 50, name: 'disk.locked', details: ['', ''] },
  diskFailed: { id: 51, name: 'disk.failed', details: ['', ''] },
} as const satisfies Record<string, WorldEventRow>;

/** One row of `worldEvents`. */
export type WorldEventKind = (typeof worldEvents)[keyof typeof worldEvents];

const internedTag = 0xffff0000;
const valueTag = 0xffff0001;
const hostBits = 16;

/** The trace of one world. */
export class Trace {
  readonly #digest = new Digest();
  readonly #now: () => number;
  readonly #record: ((line: string) => void) | undefined;
  readonly #hostNames: string[] = [];
  readonly #words = new Map<string, number>();
  readonly #listeners = new Map<string, TraceListener[]>();
  /** Whether a listener or the recorder wants the event, by id of the world's events. */
  #wanted: boolean[] = [];
  readonly #listenerFailed: (name: string, error: unknown) => void;

  constructor(
    now: () => number,
    record: ((line: string) => void) | undefined,
    listenerFailed: (name: string, error: unknown) => void,
  ) {
    this.#now = now;
    this.#listenerFailed = listenerFailed;
    this.#record = record;
    this.#updateWanted();
  }

  /** Registers a host's name; its number in `happened` is the order of these calls. */
  addHost(name: string): void {
    this.#digest.addText(this.#now(), internedTag, name);
    this.#hostNames.push(name);
  }

  /** Listens to events of one name, or to all (`*`). */
  on(name: string, listener: TraceListener): Subscription {
    // Copied on write: a listener added or removed during an event changes nothing for that event.
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener]);
    this.#updateWanted();
    return {
      cancel: () => {
        const rest = (this.#listeners.get(name) ?? []).filter((other) => other !== listener);
        this.#listeners.set(name, rest);
        this.#updateWanted();
      },
    };
  }

  /** Adds an event of the world. `host` is the host's number, -1 for none; `text` and `bytes` are its subject. */
  happened(kind: WorldEventKind, host: number, a = 0, b = 0, text = '', bytes?: Uint8Array): void {
    this.#digest.add(this.#now(), (kind.id << hostBits) | (host + 1), a, b, bytes);
    if (text !== '') this.#digest.add(this.#now(), valueTag, this.#wordOf(text), 0);
    if (this.#wanted[kind.id] === true) this.#tellWorldEvent(kind, host, a, b, text);
  }

  /** Adds an event of the engine's log. */
  logged(host: number, level: LogLevel, name: string, fields: LogFields): void {
    const kind = worldEvents.engineLogged.id;
    const entries = Object.entries(fields);
    const tag = (kind << hostBits) | (host + 1);
    this.#digest.add(this.#now(), tag, this.#wordOf(name), entries.length);
    for (const [field, value] of entries) this.#addField(field, value);
    this.#tell(host, name, level, fields);
  }

  /** Adds an event of the runner to the trace and the digest. */
  note(name: string, fields: LogFields = {}): void {
    this.happened(worldEvents.worldNoted, -1, 0, 0, name);
    for (const [field, value] of Object.entries(fields)) this.#addField(field, value);
    this.#tell(-1, name, undefined, fields);
  }

  /** SHA-256 over everything so far, 64 hex digits. */
  hex(): string {
    return this.#digest.hex();
  }

  #addField(field: string, value: string | number | boolean): void {
    const word = this.#wordOf(field);
    if (typeof value === 'number') this.#digest.add(0, valueTag, word, value);
    else if (typeof value === 'boolean') this.#digest.add(1, valueTag, word, value ? 1 : 0);
    else this.#digest.add(2, valueTag, word, value.length, Buffer.from(value, 'utf8'));
  }

  /** The number of a word; its text enters the digest at its first use. */
  #wordOf(text: string): number {
    const known = this.#words.get(text);
    if (known !== undefined) return known;
    const word = this.#words.size;
    this.#words.set(text, word);
    this.#digest.addText(this.#now(), internedTag, text);
    return word;
  }

  #tellWorldEvent(kind: WorldEventKind, host: number, a: number, b: number, text: string): void {
    const fields: Record<string, string | number> = {};
    if (text !== '') fields['what'] = text;
    if (kind.details[0] !== '') fields[kind.details[0]] = a;
    if (kind.details[1] !== '') fields[kind.details[1]] = b;
    this.#tell(host, kind.name, undefined, fields);
  }

  #tell(host: number, name: string, level: LogLevel | undefined, fields: LogFields): void {
    const named = this.#listeners.get(name);
    const all = this.#listeners.get('*');
    if (named === undefined && all === undefined && this.#record === undefined) return;
    const event = { atUs: this.#now(), host: this.#hostNames[host] ?? '', name, level, fields };
    this.#record?.(describeEvent(event));
    if (named !== undefined) this.#tellThem(named, event);
    if (all !== undefined) this.#tellThem(all, event);
  }

  /** A listener's error must not reach the engine, which makes this call. */
  #tellThem(listeners: readonly TraceListener[], event: TraceEvent): void {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#listenerFailed(event.name, error);
      }
    }
  }

  #updateWanted(): void {
    const everything = this.#record !== undefined || (this.#listeners.get('*')?.length ?? 0) > 0;
    this.#wanted = [];
    for (const { id, name } of Object.values(worldEvents)) {
      this.#wanted[id] = everything || (this.#listeners.get(name)?.length ?? 0) > 0;
    }
  }
}

/** One line: `0.012345 n2 net.delivered connection=12 bytes=345`. */
export function describeEvent({ atUs, host, name, fields }: TraceEvent): string {
  const details = Object.entries(fields).map(([field, value]) => ` ${field}=${JSON.stringify(value)}`);
  return `${(atUs / 1_000_000).toFixed(6)} ${host === '' ? '-' : host} ${name}${details.join('')}`;
}
