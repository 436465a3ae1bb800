/** Finds nodes that call a peer DOWN although it has run, and nothing has cut the two off, for long. Pure. */
import type { Recording } from './recording.ts';

/** A peer that runs, and is reached, for this long is called DOWN by no healthy node, in microseconds. */
const patienceUs = 3_000_000;

/** From `sinceUs` until the violation, the node of one lane calls the running node of the other DOWN. */
export interface WrongView {
  readonly lane: number;
  readonly peer: number;
  readonly sinceUs: number;
  /** When the peer started last. */
  readonly startedUs: number;
}

/** The wrong views at the violation, the longest first. */
export function wrongViewsOf({ lanes, marks, bands, concern }: Recording): readonly WrongView[] {
  if (concern === undefined) return [];
  const startedUs = new Map<number, number>();
  const down = new Map<string, { readonly lane: number; readonly peer: number; readonly sinceUs: number }>();
  for (const { lane, atUs, kind, text } of marks) {
    if (atUs > concern.atUs) break;
    if (kind === 'start') startedUs.set(lane, atUs);
    if (kind === 'crash' || kind === 'stop' || kind === 'pause') startedUs.delete(lane);
    if (kind === 'resume') startedUs.set(lane, atUs);
    // A node that dies forgets what it called its peers.
    if (kind === 'crash' || kind === 'stop')
      for (const [pair, view] of down) if (view.lane === lane) down.delete(pair);
    const [, name = '', to = ''] = viewForm.exec(text) ?? [];
    const peer = lanes.findIndex((one) => one.name === name);
    if (peer < 0) continue;
    if (to === 'DOWN') down.set(`${lane} ${peer}`, { lane, peer, sinceUs: atUs });
    else down.delete(`${lane} ${peer}`);
  }
  const fromUs = concern.atUs - patienceUs;
  const isCut = (lane: number): boolean =>
    bands.some((band) => band.links !== undefined && band.toUs > fromUs && band.lanes.includes(lane));
  return [...down.values()]
    .flatMap((view) => {
      const started = startedUs.get(view.peer);
      const isLong = started !== undefined && started < fromUs && view.sinceUs < fromUs;
      const isReached = startedUs.has(view.lane) && !isCut(view.lane) && !isCut(view.peer);
      return isLong && isReached ? [{ ...view, startedUs: started }] : [];
    })
    .toSorted((left, right) => left.sinceUs - right.sinceUs);
}

const viewForm = /^membership\.peer\.state\.changed .*?\bpeer=(\S+) .*\bto=(\w+)/;
