/** Ports of this machine that are free now, and that no outgoing connection takes before they are used. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the range from which systems take the ports of outgoing connections. */
const [least, most] = [10_000, 32_000] as const;
const triesMax = 1000;

/** So many TCP ports on which no process listens now, all different. Rejects if there are too few. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries > triesMax) throw new Error(`there are no ${count} free ports from ${least} to ${most}`);
    const port = randomInt(least, most);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
