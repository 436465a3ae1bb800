/**
 * The fault log: how often each fault was injected, and how often the engine could notice it, by kind and place.
 * Metrics are compared with it by equality. An effect is therefore recorded where it happens and nowhere else: a delay
 * on an idle link is injected once and never noticed.
 */
/** The name of a fault's row in the table of fault kinds (`faults/`), which the world does not know. */
export type FaultId = string;

/** What was injected, or what the engine could notice of it. */
export type Effect =
  /** The fault was injected (once per place that it covers). */
  | 'injected'
  /** A delivery of bytes came due and could not pass (each once). */
  | 'deliveryStalled'
  /** Bytes arrived, but their acknowledgement could not pass. */
  | 'acknowledgementStalled'
  /** A delivery of bytes was slowed down. */
  | 'deliveryDelayed'
  /** A delivery was cut into pieces. */
  | 'deliverySplit'
  /** A live side of a connection was told `reset`. */
  | 'connectionReset'
  /** A live side of a connection was told `timedOut`. */
  | 'connectionTimedOut'
  /** An attempt to connect was not answered in time. */
  | 'connectTimedOut'
  /** An attempt to connect was refused. */
  | 'connectRefused'
  /** A frame between peers never arrived, arrived twice, came again long after, or was overtaken by others. */
  | 'frameDropped'
  | 'frameDoubled'
  | 'frameReplayed'
  | 'frameOvertaken'
  /** A frame's version was changed on its way. */
  | 'frameForeign'
  /** A disk operation was rejected. */
  | 'operationFailed'
  /** A disk operation took longer. */
  | 'operationDelayed'
  /** A write or read moved fewer bytes than asked. */
  | 'operationShort'
  /** A sync reported success and did nothing. */
  | 'syncLied'
  /** A write went elsewhere; a read came from elsewhere. */
  | 'writeMisdirected'
  | 'readMisdirected'
  /** A read returned altered bytes. */
  | 'rottenRead'
  /** At a crash: unsynced sectors that are gone, are there, or are there in part. */
  | 'sectorDropped'
  | 'sectorKept'
  | 'sectorTorn'
  /** At a crash: unsynced names found in their old state, or in their new one. */
  | 'nameReverted'
  | 'nameKept'
  /** A timer fired before its instant, or later than it should. */
  | 'timerEarly'
  | 'timerLate'
  /** An incarnation ended by a crash; one was held by a pause. */
  | 'crashed'
  | 'paused';

/** How often one effect of one fault occurred at one place. */
export interface FaultLogLine {
  readonly kind: FaultId;
  /** A host (`n1`), a direction (`n1>n2`), or a host's file (`n1:log/000001`). */
  readonly place: string;
  readonly effect: Effect;
  readonly count: number;
}

/** The fields that lines must match; absent fields match all lines. */
export type FaultLogQuery = Partial<Pick<FaultLogLine, 'kind' | 'place' | 'effect'>>;

/** The fault log of one run. */
export class FaultLog {
  readonly #lines = new Map<string, { -readonly [Field in keyof FaultLogLine]: FaultLogLine[Field] }>();

  /** Adds `count` to an effect. */
  enter(kind: FaultId, place: string, effect: Effect, count = 1): void {
    const key = `${kind} ${place} ${effect}`;
    const line = this.#lines.get(key);
    if (line === undefined) this.#lines.set(key, { kind, place, effect, count });
    else line.count += count;
  }

  /** The sum over the lines that match the query. */
  total(query: FaultLogQuery): number {
    let sum = 0;
    for (const line of this.#lines.values()) {
      if (matches(line, query)) sum += line.count;
    }
    return sum;
  }

  /** All lines, in the order of their first entry. */
  lines(): readonly FaultLogLine[] {
    return [...this.#lines.values()].map((line) => ({ ...line }));
  }
}

function matches(line: FaultLogLine, query: FaultLogQuery): boolean {
  return (
    (query.kind === undefined || query.kind === line.kind) &&
    (query.place === undefined || query.place === line.place) &&
    (query.effect === undefined || query.effect === line.effect)
  );
}
