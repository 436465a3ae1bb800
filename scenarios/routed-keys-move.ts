import type { Scenario } from '../sim/plan/scenario.ts';
import { joinUnderLoad } from './join-under-load.ts';
import { onTheMove } from './shared.ts';

/**
 * A module of the user's sends up to eleven keys to each token, and a batch of a move holds fewer: a move that is cut
 * between keys of one token must go on with the rest of them.
 */
export const routedKeysMove: Scenario = {
  ...joinUnderLoad,
  name: 'routed-keys-move',
  description:
    'a node joins while a Wasm module routes keys to few tokens: moves are cut between keys of one token',
  settings: { ...onTheMove, features_wasm: true, transfer_batch_bytes: 1024 },
};
