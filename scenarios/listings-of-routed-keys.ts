import type { Scenario } from '../sim/plan/scenario.ts';
import { jobsOverMissedWrites } from './jobs-over-missed-writes.ts';

/**
 * A module of the user's sends up to eleven keys to each token, so replicas that hold different keys end their pages at
 * different keys of one token.
 */
export const listingsOfRoutedKeys: Scenario = {
  ...jobsOverMissedWrites,
  name: 'listings-of-routed-keys',
  description:
    'a Wasm module routes keys to few tokens, a replica lacks some of them, and nodes list them to one another a few names a page: a listing names each key that the majority holds, once',
  settings: { ...jobsOverMissedWrites.settings, features_wasm: true, peer_page_items: 2 },
};
