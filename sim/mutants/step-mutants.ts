/** Mutants of what nodes save, each with the durable steps that expose it. */
import type { EnumeratedMutant } from './mutant.ts';

/** Mutants for `lockstep-sim enumerate SUBJECT --mutant`. */
export const stepMutants: readonly EnumeratedMutant[] = [
  {
    name: 'replaced-in-place',
    code: 'M147',
    title: 'a file is overwritten where it lies, not replaced by a new one',
    file: 'engine/io/disk.js',
    find: 'const beside = `${path}.new`;',
    replace: 'const beside = path;',
    subject: 'snapshots',
    exposedBy: 'n1 truncate',
    oracles: ['values'],
  },
  {
    name: 'properties-not-saved',
    code: 'M148',
    title: 'a change of bucket properties is acknowledged without being saved',
    file: 'engine/buckets/property-keeper.js',
    find: 'await this.#shelf.save(changes);',
    replace: 'await undefined;',
    subject: 'properties',
    exposedBy: 'properties n1 write',
    oracles: ['values'],
  },
];
