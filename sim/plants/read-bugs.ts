/** Planted bugs of reads of large objects: what they hold, and what is taken for the same (numbers follow the catalogue's). */
import type { PlantedBug } from './plant.ts';

export const readBugs: readonly PlantedBug[] = [
  {
    id: 'M72',
    title: 'a read does not give back its room when a fetch of a large object has failed',
    file: 'engine/dispatch/large-answers.js',
    find: 'this.#fetching -= 1;',
    replace: 'if (error === undefined) this.#fetching -= 1;',
    scenario: 'large-values-in-turn',
    oracles: ['INV23'],
    seedsMax: 20,
  },
  {
    id: 'M73',
    title: 'large objects of one length are taken for the same',
    file: 'engine/dispatch/large-answers.js',
    find: 'Buffer.compare(heard, digest) === 0',
    replace: 'heard.length === digest.length',
    scenario: 'large-values-in-turn',
    oracles: ['INV4', 'INV10', 'INV20'],
    seedsMax: 20,
  },
  {
    id: 'M74',
    title: 'reads of large objects are let in however much the others hold',
    file: 'engine/dispatch/read-budget.js',
    find: 'this.#heldBytes + bytes > this.#bytesMax',
    replace: 'this.#heldBytes + bytes > this.#bytesMax * 64',
    scenario: 'large-values-in-turn',
    oracles: ['INV23'],
    seedsMax: 20,
  },
  {
    id: 'M75',
    title: 'a replica sends what it was asked to describe',
    file: 'engine/dispatch/peer-service.js',
    find: 'object.length <= bytesMax',
    replace: 'object.length <= bytesMax * 1024',
    scenario: 'large-values-in-turn',
    oracles: ['INV23'],
    seedsMax: 5,
  },
];
