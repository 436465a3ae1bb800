/** Mutants of what operators rely on: upgrades that end everywhere or nowhere. */
import type { Mutant } from './mutant.ts';

/** Mutants that scenarios with operators' acts must detect. */
export const operatorMutants: readonly Mutant[] = [
  {
    name: 'finalized-without-a-member',
    code: 'M330',
    title: 'an upgrade is finalized although a member lacks the version or was not reached',
    file: 'engine/node/cluster-version.js',
    find: 'if (lacking.length > 0)',
    replace: 'if (lacking.length > 1)',
    scenario: 'upgrade-finalized',
    oracles: ['upgrade-finality'],
    seedsMax: 5,
  },
  {
    name: 'minimum-recorded-late',
    code: 'M331',
    title: 'a member records the minimum that it had before the upgrade was finalized',
    file: 'engine/node/cluster-version.js',
    find: 'new ByteWriter(8).u8(format).u32(minimum)',
    replace: 'new ByteWriter(8).u8(format).u32(this.#minimum)',
    scenario: 'upgrade-finalized',
    oracles: ['upgrade-finality'],
    seedsMax: 5,
  },
  {
    name: 'older-build-starts',
    code: 'M332',
    title: 'a build that speaks less than the recorded minimum starts',
    file: 'engine/node/cluster-version.js',
    find: 'if (minimum <= max)',
    replace: 'if (minimum > 0)',
    scenario: 'upgrade-finalized',
    oracles: ['upgrade-finality'],
    seedsMax: 5,
  },
  {
    name: 'minimum-unheard',
    code: 'M333',
    title: 'a node does not take the minimum that a member states in its greeting',
    file: 'engine/node/services.js',
    find: 'version.heard(hello.messages);',
    replace: '',
    scenario: 'upgrade-finalized',
    oracles: ['upgrade-finality'],
    seedsMax: 30,
  },
];
