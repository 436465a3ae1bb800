/** Planted bugs of the cluster layer: routing, quorums, causality, failure detection, hints. */
import type { PlantedBug } from './plant.ts';

export const clusterBugs: readonly PlantedBug[] = [
  {
    id: 'M19',
    title: 'an answer of the peer plane goes to the newest request of its kind on the connection',
    file: 'engine/peer/link-session.js',
    find: 'const pending = this.#pending.get(frame.id);',
    replace: `const asked = this.#pending.get(frame.id);
        const sent = [...this.#pending.values()].filter((one) => one.state === 'sent');
        const pending = sent.findLast((one) => one.kind === asked?.kind) ?? asked;`,
    scenario: 'slow-peer-fills-channel',
    oracles: ['INV4', 'INV20', 'INV32'],
    seedsMax: 50,
  },
  {
    id: 'M20',
    title: 'a peer is served though it sees another ring',
    file: 'engine/node/agreed-requests.js',
    find: 'membership.agrees(from)',
    replace: 'membership.agrees !== from',
    scenario: 'slept-through-a-change',
    oracles: ['INV4', 'INV20', 'INV10'],
    seedsMax: 50,
  },
  {
    id: 'M21',
    title: 'a write at DC_ONE goes to one replica only',
    file: 'engine/dispatch/write-round.js',
    find: 'for (let index = 0; index < this.#plan.targets.length; index++)',
    replace:
      'for (let index = 0; index < (this.#plan.groups[0]?.needed === 1 ? 1 : this.#plan.targets.length); index++)',
    scenario: 'hints-alone',
    oracles: ['INV4', 'INV10'],
    seedsMax: 50,
  },
  {
    id: 'M22',
    title: 'a quorum is the majority of the replicas that can be reached',
    file: 'engine/dispatch/plan.js',
    find: 'const copies = view.rackCount(local);',
    replace:
      'const copies = placement.filter((one) => one.datacenter === local && view.isRoutable(one)).length;',
    scenario: 'eject-and-reinstate',
    oracles: ['INV18', 'INV5', 'INV4'],
    seedsMax: 50,
  },
  {
    id: 'M23',
    title: "a replica's answer counts twice",
    file: 'engine/dispatch/tally.js',
    find: 'this.#counted[group] = (this.#counted[group] ?? 0) + 1;',
    replace: 'this.#counted[group] = (this.#counted[group] ?? 0) + 2;',
    scenario: 'lost-and-doubled-messages',
    oracles: ['INV18', 'INV5', 'INV4'],
    seedsMax: 50,
  },
  {
    id: 'M31',
    title: 'a node without its disk names its writes as it did before',
    file: 'engine/dispatch/dot-names.js',
    find: `this.#counter = nextCounter(highest, this.#clock.wallMs());
        return { actor: this.#actorOf(key), counter: this.#counter };`,
    replace: `this.#counter += 1;
        return { actor: this.#actorOf(key).split('.')[0], counter: this.#counter };`,
    scenario: 'wiped-disk-returns',
    oracles: ['INV9'],
    seedsMax: 50,
  },
  {
    id: 'M61',
    title: 'a write over a copy that cannot be read is named as if all before it were known',
    file: 'engine/dispatch/slots.js',
    find: `if (lost)
            this.#estranged(key);`,
    replace: '',
    scenario: 'written-over-rot',
    oracles: ['INV4'],
    seedsMax: 20,
  },
  {
    id: 'M33',
    title: 'the failure detector reads the wall clock',
    file: 'engine/membership/membership.js',
    find: 'new Gossip(io, ',
    replace:
      'new Gossip({ ...io, clock: { after: (us, act) => io.clock.after(us, act), wallMs: () => io.clock.wallMs(), nowUs: () => io.clock.wallMs() * 1000 } }, ',
    scenario: 'clock-jumps',
    oracles: ['INV21', 'INV22'],
    seedsMax: 50,
  },
  {
    id: 'M34',
    title: 'a peer that was called down stays so',
    file: 'engine/membership/table.js',
    find: "this.#move(peer, record.left || record.away ? 'DOWN' : record.state);",
    replace:
      "this.#move(peer, record.left || record.away || peer.opinion === 'DOWN' ? 'DOWN' : record.state);",
    scenario: 'eject-and-reinstate',
    oracles: ['INV22', 'INV24'],
    seedsMax: 50,
  },
  {
    id: 'M37',
    title: 'a token beyond 32 bits is taken for the highest one',
    file: 'engine/base/ids.js',
    find: 'Number.isInteger(value) && value >= 0 && value <= tokenMax ? value : undefined',
    replace: 'Number.isInteger(value) && value >= 0 ? Math.min(value, tokenMax) : undefined',
    scenario: 'wrong-identity',
    oracles: ['INV19'],
    seedsMax: 50,
  },
  {
    id: 'M38',
    title: 'a hint is removed before its replica has taken it',
    file: 'engine/dispatch/hints.js',
    find: 'const outcome = await way(peer, key, hint);',
    replace: `await this.#remove(hintKey);
        const outcome = await way(peer, key, hint);`,
    scenario: 'hints-alone',
    oracles: ['INV27'],
    seedsMax: 50,
  },
  {
    id: 'M51',
    title: 'a node leaves with the writes that it keeps for others',
    file: 'engine/transfer/estate.js',
    find: 'await this.#parts.handOnHints()',
    replace: 'await Promise.resolve(0)',
    scenario: 'hint-holder-leaves',
    oracles: ['INV27', 'INV10'],
    seedsMax: 10,
  },
  {
    id: 'M52',
    title: 'what was kept for a node that was replaced is kept for ever',
    file: 'engine/dispatch/hints.js',
    find: 'if (members.has(peer))',
    replace: 'if (members.size > 0)',
    scenario: 'hints-of-the-dead',
    oracles: ['INV22'],
    seedsMax: 10,
  },
  {
    id: 'M42',
    title: 'gossip chooses its partners by a chance of its own',
    file: 'engine/membership/gossip.js',
    find: 'this.#round = shuffled(this.#random, there);',
    replace: 'this.#round = [...there].sort(() => Math.random() - 0.5);',
    scenario: 'partition-minority',
    oracles: ['INV29', 'INV31'],
    seedsMax: 50,
  },
  {
    id: 'M58',
    title: 'what a full channel refused is counted as refused by a closed one',
    file: 'engine/dispatch/parts.js',
    find: `if (outcome === 'full')
        failures.peerSendFull(`,
    replace: `if (outcome === 'fully')
        failures.peerSendFull(`,
    scenario: 'slow-peer-fills-channel',
    oracles: ['INV24'],
    seedsMax: 10,
  },
  {
    id: 'M59',
    title: 'a full channel says that it is closed',
    file: 'engine/peer/link-session.js',
    find: `pool.give(pending);
        }
        return outcome;`,
    replace: `pool.give(pending);
        }
        return outcome === 'ok' ? 'ok' : 'closed';`,
    scenario: 'slow-peer-fills-channel',
    oracles: ['INV24'],
    seedsMax: 10,
  },
  {
    id: 'M60',
    title: "a peer's return is not counted, and neither was its fall",
    file: 'engine/node/membership-observer.js',
    find: 'failures.peerStateTransition(index, from, to);',
    replace: "if (![from, to].includes('DOWN')) failures.peerStateTransition(index, from, to);",
    scenario: 'partition-minority',
    oracles: ['INV24'],
    seedsMax: 10,
  },
  {
    id: 'M62',
    title: "what the store's full queue refused is counted as refused by a closed one",
    file: 'engine/node/observers.js',
    find: `if (outcome === 'full')
                failures.backendSendFull(`,
    replace: `if (outcome === 'fully')
                failures.backendSendFull(`,
    scenario: 'slow-disk-fills-queue',
    oracles: ['INV24'],
    seedsMax: 10,
  },
  {
    id: 'M66',
    title: 'a node that its peers know for no member serves what it believes to own',
    file: 'engine/membership/standing.js',
    find: 'return this.#by === undefined || this.#isHeard();',
    replace: 'return this.#by !== null || this.#isHeard();',
    scenario: 'replaced-one-returns',
    oracles: ['INV5', 'INV18', 'INV4'],
    seedsMax: 10,
  },
  {
    id: 'M67',
    title: 'a node that has left starts again on what it held then',
    file: 'engine/node.js',
    find: '        refuseLeaver(config.name, members);\n',
    replace: '',
    scenario: 'leaver-starts-again',
    oracles: ['INV16', 'INV4', 'INV10'],
    seedsMax: 10,
  },
];

/** Edits that break no promise: nothing may be reported of them. */
export const harmlessEdits: readonly PlantedBug[] = [
  {
    id: 'AN1',
    title: 'a write is sent to its replicas in another order',
    file: 'engine/dispatch/write-round.js',
    find: `for (let index = 0; index < this.#plan.targets.length; index++)
            this.#send(index, bytes);`,
    replace: `for (let index = this.#plan.targets.length - 1; index >= 0; index--)
            this.#send(index, bytes);`,
    scenario: 'partition-minority',
    oracles: [],
    seedsMax: 50,
  },
  {
    id: 'AN2',
    title: 'hints are handed over one by one',
    file: 'engine/node/storage.js',
    find: 'windowMax: 16',
    replace: 'windowMax: 2 / 2',
    scenario: 'hints-alone',
    oracles: [],
    seedsMax: 50,
  },
];
