/**
 * The messages belong to a version. Nodes of the version before read nothing that came later, so no message changes
 * without a new version.
 */
import { expect, test } from 'vitest';

import { greetingKinds, replyKinds, requestKinds } from './kinds.ts';
import { wireVersion } from './messages.ts';
import { isSpoken, messageVersions } from './versions.ts';

test('a message that is added, removed or renumbered needs a new version', () => {
  const kinds = [greetingKinds, requestKinds, replyKinds].map((of) =>
    Object.entries(of)
      .map(([name, number]) => `${number} ${name}`)
      .sort(),
  );
  // A change of these lines needs a new version, with a line in versions.ts about what it adds.
  expect({ wireVersion, messageVersions, kinds }).toEqual({
    wireVersion: 3,
    messageVersions: { min: 3, max: 7 },
    kinds: [
      ['1 hello', '2 refusal'],
      [
        '16 ping',
        '17 readObject',
        '18 mergeObject',
        '19 coordinateWrite',
        '20 gossip',
        '21 keepHint',
        '32 mergeBatch',
        '33 transact',
        '34 antiEntropy',
        '35 mergeMany',
        '36 readMany',
        '40 transferRange',
        '44 listNames',
        '45 mapPhase',
        '48 properties',
        '49 reap',
        '50 pubsub',
        '51 upgrade',
        '56 wasmModules',
      ],
      [
        '64 pong',
        '65 object',
        '66 written',
        '67 coordinated',
        '68 failed',
        '69 gossiped',
        '80 transacted',
        '81 antiEntropyAnswered',
        '82 mergedMany',
        '83 readManyAnswered',
        '88 rangeTransferred',
        '92 namesListed',
        '93 phaseMapped',
        '96 propertiesAnswered',
        '97 reapAnswered',
        '98 pubsubAnswered',
        '99 upgradeAnswered',
        '104 wasmModulesAnswered',
      ].sort(),
    ],
  });
});

test('a request is spoken from the version on that it came with', () => {
  const spokenAt = (version: number): readonly string[] =>
    (Object.keys(requestKinds) as (keyof typeof requestKinds)[]).filter((kind) => isSpoken(kind, version));
  const all = Object.keys(requestKinds);
  const without = (...later: readonly string[]): readonly string[] =>
    all.filter((kind) => !later.includes(kind));
  expect(spokenAt(3)).toEqual(without('upgrade', 'mergeMany', 'readMany'));
  expect(spokenAt(4)).toEqual(without('mergeMany', 'readMany'));
  expect(spokenAt(5)).toEqual(without('readMany'));
  expect(spokenAt(6)).toEqual(all);
  expect(spokenAt(2)).toEqual([]);
});
