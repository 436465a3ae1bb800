/**
 * Loaded by a process of a node before the program (`node --import`): gives it the clocks that a plan wants. The starter
 * sends the state of the clocks over the channel, and in the environment for the moment of the start. Nothing of the
 * engine knows of it.
 */
import type { ClockState } from './clock-state.ts';
import { clockVariable } from './clock-state.ts';

const wallMs = Date.now.bind(Date);
const monotonicMs = performance.now.bind(performance);
const setTimer = globalThis.setTimeout;

let state: ClockState = { offsetMs: 0, ppm: 0, frozenMs: undefined, earlyUs: 0, lateUs: 0 };
/** When the present drift began, and what the drift before it had added by then, in milliseconds. */
let sinceMs = monotonicMs();
let gainedMs = 0;

function take(next: ClockState): void {
  gainedMs = driftMs();
  sinceMs = monotonicMs();
  state = next;
}

function driftMs(): number {
  return gainedMs + ((monotonicMs() - sinceMs) * state.ppm) / 1_000_000;
}

Date.now = () => state.frozenMs ?? Math.floor(wallMs() + state.offsetMs + driftMs());
performance.now = () => monotonicMs() + driftMs();

function jittered(delayMs: number | undefined): number | undefined {
  if (delayMs === undefined || (state.earlyUs === 0 && state.lateUs === 0)) return delayMs;
  const shiftUs = Math.random() * (state.earlyUs + state.lateUs) - state.earlyUs;
  return Math.max(0, delayMs + shiftUs / 1000);
}

globalThis.setTimeout = new Proxy(setTimer, {
  apply: (target, own, [act, delayMs, ...rest]: Parameters<typeof setTimer>) =>
    Reflect.apply(target, own, [act, jittered(delayMs), ...rest]),
});

const first = process.env[clockVariable];
if (first !== undefined) take(JSON.parse(first) as ClockState);
process.on('message', (message) => {
  if (typeof message === 'object' && message !== null && 'clock' in message)
    take(message.clock as ClockState);
});
// The channel alone must not keep the process running.
process.channel?.unref();
