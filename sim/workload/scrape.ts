/**
 * The operator's scrape of one node: `/stats` and `/metrics` over the simulated network. The node renders both from a
 * metrics snapshot that it publishes once a second. The operator therefore reads `/stats` before and after: if both are
 * equal, `/metrics` came from the same snapshot.
 */
import type { Clock } from '../../engine/io/clock.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { Address } from '../../engine/io/network.ts';
import type { PlanScrape } from '../plan/plan.ts';
import type { HttpClient } from '../world/world.ts';

/** How long the operator waits before the next attempt. */
const retryUs = 200_000;
const timeoutUs = 2_000_000;

/** One scrape of one node. */
export interface ScrapeRecord {
  readonly id: string;
  readonly node: string;
  /** The incarnation that answered; '' if there may have been two. */
  readonly life: string;
  readonly atUs: number;
  /** Undefined if the node could not be asked, or published a snapshot in between. */
  readonly seen: { readonly stats: string; readonly metrics: string } | undefined;
}

/** Scrapes a node once. `lifeOf` names its current incarnation. */
export async function scrapeNode(
  { id, node }: Pick<PlanScrape, 'id' | 'node'>,
  http: HttpClient,
  address: Address,
  nowUs: () => number,
  lifeOf: () => string,
): Promise<ScrapeRecord> {
  const life = lifeOf();
  const seen = await look(http, address);
  return { id, node, life: life === lifeOf() ? life : '', atUs: nowUs(), seen };
}

/** Repeats `scrape` until it has seen a whole snapshot, or `stopped` returns true. */
export async function untilSeen(
  scrape: () => Promise<ScrapeRecord>,
  clock: Clock,
  stopped: () => boolean,
): Promise<ScrapeRecord> {
  for (;;) {
    const record = await scrape();
    if (record.seen !== undefined || stopped()) return record;
    await sleep(clock, retryUs);
  }
}

async function look(http: HttpClient, address: Address): Promise<ScrapeRecord['seen']> {
  try {
    const before = await read(http, address, '/stats');
    const metrics = await read(http, address, '/metrics');
    const after = await read(http, address, '/stats');
    return before === after ? { stats: before, metrics } : undefined;
  } catch {
    // The node is down, cut off or too slow: there is nothing to compare.
    return undefined;
  }
}

async function read(http: HttpClient, address: Address, path: string): Promise<string> {
  const { body } = await http.request(address, { method: 'GET', path }, timeoutUs);
  return body.toString('utf8');
}
