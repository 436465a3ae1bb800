/** Numbers, durations and times as the console shows them. */

const units: readonly (readonly [string, number])[] = [
  ['TiB', 2 ** 40],
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
];

/** `1.4 MiB`, or `12 B`. */
export function bytesText(bytes: number): string {
  for (const [unit, size] of units) if (bytes >= size) return `${(bytes / size).toFixed(1)} ${unit}`;
  return `${bytes} B`;
}

/** `12,345`. */
export function countText(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

/** A duration of whole seconds: `3 d 4 h`, `2 h 5 min`, `12 s`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const days = Math.floor(whole / 86_400);
  const hours = Math.floor(whole / 3600) % 24;
  const minutes = Math.floor(whole / 60) % 60;
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

/** A latency in seconds: `250 µs`, `2.5 ms`, `1.20 s`. */
export function latencyText(seconds: number): string {
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  return seconds < 1 ? `${(seconds * 1000).toFixed(1)} ms` : `${seconds.toFixed(2)} s`;
}

/** A time of milliseconds since the epoch, in UTC to the second. */
export function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime())
    ? String(ms)
    : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** A share in thousandths of a per cent: `33.3 %`. */
export function shareText(share: number): string {
  return `${(share / 1000).toFixed(1)} %`;
}
