/** Mutants of the store and of its file access. */
import type { Mutant } from './mutant.ts';

/** Mutants that scenarios with disk faults must detect. */
export const storageMutants: readonly Mutant[] = [
  {
    name: 'later-flushes-acked-early',
    code: 'M41',
    title: 'flushes that begin while an earlier one is awaited count as written too',
    file: 'engine/storage/log/group-commit.js',
    find: 'this.#land(gathering);',
    replace: `this.#land(gathering);
            for (const one of this.#flights.splice(0)) {
                this.#land(one.gathering);
                acknowledge(one.gathering, 0, one.gathering.dones.length);
            }`,
    scenario: 'crash-and-restart',
    // The assertion of the group commit ends the node before a write is lost.
    oracles: ['no-silent-failures', 'durability', 'durable-before-ack'],
    seedsMax: 50,
  },
  {
    name: 'acked-without-a-sync',
    code: 'M123',
    title: 'a flush is acknowledged as soon as it is written',
    file: 'engine/storage/log/group-commit.js',
    find: 'const written = writeFullyDurably(file, gathering.chunks.map(bytesOf), gathering.at);',
    replace: 'const written = writeFully(file, gathering.chunks.map(bytesOf), gathering.at);',
    scenario: 'calm',
    // An assertion of the group commit ends the node.
    oracles: ['no-silent-failures'],
    seedsMax: 3,
  },
  {
    name: 'live-bytes-counted-twice',
    code: 'M122',
    title: 'a record counts twice among the live bytes of its segment',
    file: 'engine/storage/index/newest-records.js',
    find: 'segment.liveBytes += span;',
    replace: 'segment.liveBytes += 2 * span;',
    scenario: 'calm',
    // An assertion of the store ends the node.
    oracles: ['no-silent-failures'],
    seedsMax: 3,
  },
  {
    name: 'no-directory-sync',
    code: 'M02',
    title: 'a replaced file is renamed without a sync of its directory',
    file: 'engine/io/disk.js',
    find: `await disk.rename(beside, path);
    await disk.syncDirectory(parentOf(path));`,
    replace: 'await disk.rename(beside, path); /* and no more */',
    scenario: 'single-node-power-loss',
    oracles: ['durability'],
    seedsMax: 20,
  },
  {
    name: 'sync-error-ignored',
    code: 'M03',
    title: 'the error of a sync is treated as success',
    file: 'engine/storage/log/group-commit.js',
    find: 'const error = await flight.written;',
    replace: 'const error = (await flight.written, undefined);',
    scenario: 'disk-errors',
    // The assertion of the group commit ends the node before a write is lost.
    oracles: ['no-silent-failures', 'durability', 'durable-before-ack'],
    seedsMax: 20,
  },
  {
    name: 'recovery-skips-first-record',
    code: 'M08',
    title: 'a recovery skips the first record of the log',
    file: 'engine/storage/recovery/recovery.js',
    find: 'record: (bytes, at, offset) => take(bytes, at, offset, false),',
    replace: 'record: (bytes, at, offset) => offset > 104 && take(bytes, at, offset, false),',
    scenario: 'single-node-power-loss',
    oracles: ['durability'],
    seedsMax: 50,
  },
  {
    name: 'free-space-never-probed',
    code: 'M94',
    title: 'a store that found its disk full does not probe for free space',
    file: 'engine/storage/store.js',
    find: 'if (full)',
    replace: "if (full && this.#state === 'open')",
    scenario: 'disk-space-recovers',
    oracles: ['convergence'],
    seedsMax: 10,
  },
  {
    name: 'empty-store-assumes-no-properties',
    code: 'M107',
    title: 'a node with an empty store assumes that no bucket has properties',
    file: 'engine/node/stored-properties.js',
    find: "const condition = isLost ? 'lost' : isWhole",
    replace: "const condition = isLost ? 'lost' : true",
    scenario: 'lost-files',
    oracles: ['durability', 'session-guarantees', 'convergence'],
    seedsMax: 40,
  },
];
