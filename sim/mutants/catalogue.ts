/** Lists all mutants that random runs must detect. Each edit is tested against the built engine (catalogue.test.ts). */
import { antiEntropyMutants } from './anti-entropy-mutants.ts';
import { batchMutants } from './batch-mutants.ts';
import { clientMutants } from './client-mutants.ts';
import { clusterMutants, harmlessEdits } from './cluster-mutants.ts';
import type { Mutant } from './mutant.ts';
import { operatorMutants } from './operator-mutants.ts';
import { oracleMutants } from './oracle-mutants.ts';
import { readMutants } from './read-mutants.ts';
import { storageMutants } from './storage-mutants.ts';
import { randomTransactionMutants } from './random-transaction-mutants.ts';

/** All of them; `transaction-mutants.ts` has those that crash points expose. */
export const mutants: readonly Mutant[] = [
  ...storageMutants,
  {
    name: 'ack-before-sync',
    code: 'M01',
    title: 'writes are acknowledged before the sync that covers them has completed',
    file: 'engine/storage/log/group-commit.js',
    find: 'const written = writeFullyDurably(file, gathering.chunks.map(bytesOf), gathering.at);',
    replace: `const written = writeFully(file, gathering.chunks.map(bytesOf), gathering.at).then(() => {
            this.#io.spawn('store.sync', () => file.sync());
            return gathering.end;
        });`,
    scenario: 'crash-and-restart',
    oracles: ['durability', 'durable-before-ack'],
    seedsMax: 50,
  },
  {
    name: 'snapshot-checksum-unchecked',
    code: 'M27',
    title: "the checksum of the hash tree's snapshot is not compared",
    file: 'engine/anti-entropy/snapshot-file.js',
    find: 'crc32(body) !== bytes.readUInt32BE(bodyBytes)',
    replace: 'crc32(body.subarray(0, 64)) === 0',
    scenario: 'snapshot-corruption',
    oracles: ['snapshot-rejection'],
    seedsMax: 20,
  },
  {
    name: 'job-runs-newest-module',
    code: 'M45',
    title: 'a node runs the newest version of a module, whichever version the job began with',
    file: 'engine/wasm/registry.js',
    find: 'content !== undefined && (digest === undefined || content.digest === digest)',
    replace: 'content !== undefined && digest !== null',
    scenario: 'module-swapped-mid-job',
    oracles: ['wasm-purity'],
    seedsMax: 10,
  },
  {
    name: 'wasm-memory-not-cleared',
    code: 'M39',
    title: "a call's changes of its module's memory, also before a trap, are visible to the next call",
    file: 'engine/wasm/instance.js',
    find: 'bytes.fill(0, start.length);',
    replace: 'bytes.fill(0, 4096);',
    scenario: 'trap-in-keyfun',
    oracles: ['wasm-purity', 'durability', 'durable-before-ack'],
    seedsMax: 5,
  },
  {
    name: 'reap-despite-unreachable-replica',
    code: 'M30',
    title: 'a tombstone is reaped although an unreachable replica may not hold it',
    file: 'engine/replication/tombstones/reaper.js',
    find: "if (holding === 'same' || holding === 'forgotten')",
    replace: "if (holding === undefined || holding === 'same' || holding === 'forgotten')",
    scenario: 'tombstones-removed',
    oracles: ['durability', 'convergence', 'session-guarantees', 'repair-soundness'],
    seedsMax: 50,
  },
  {
    name: 'reap-without-grace',
    code: 'M83',
    title: 'a tombstone is reaped as soon as all replicas have confirmed once that they hold it',
    file: 'engine/replication/tombstones/reaper.js',
    find: 'const agreedUs = this.#parts.io.clock.nowUs();\n',
    replace: `const items = answers.filter(({ answer }) => answer === 'agreed').map(({ item }) => item);
        const order = { kind: 'forget', agreedForUs: 0, items };
        await Promise.all(members.map((member) => this.#ask(member, order)));
        await Promise.all(items.map((item) => this.#forget(item)));
        const agreedUs = undefined;
`,
    scenario: 'hints-outlive-deletions',
    oracles: ['hint-delivery', 'durability', 'session-guarantees', 'convergence'],
    seedsMax: 20,
  },
  {
    name: 'read-timeout-counted-twice',
    code: 'M35',
    title: 'a read that times out is counted twice',
    file: 'engine/replication/failure-causes.js',
    find: "if (code === 'Timeout')",
    replace: `if (code === 'Timeout' && what === 'read')
        failures.responseTimeout(level);
    if (code === 'Timeout')`,
    scenario: 'partition-minority',
    oracles: ['metrics-reconcile'],
    seedsMax: 10,
  },
  {
    name: 'write-timeout-uncounted',
    code: 'M91',
    title: 'a write that times out is not counted',
    file: 'engine/replication/failure-causes.js',
    find: "if (code === 'Timeout')",
    replace: "if (code === 'Timeout' && what === 'read')",
    scenario: 'everything-at-once',
    oracles: ['metrics-reconcile'],
    seedsMax: 10,
  },
  {
    name: 'read-timeout-uncounted',
    code: 'M92',
    title: 'a read that times out is not counted',
    file: 'engine/replication/failure-causes.js',
    find: "if (code === 'Timeout')",
    replace: "if (code === 'Timeout' && what === 'write')",
    scenario: 'one-way-partition',
    oracles: ['metrics-reconcile'],
    seedsMax: 5,
  },
  {
    name: 'unreachable-primary-uncounted',
    code: 'M119',
    title: 'a transaction that fails because its primary is unreachable is not counted as a failure',
    file: 'engine/api/transaction-rules.js',
    find: "no_targets: { code: 'NoTargets', definite: true }",
    replace: 'no_targets: undefined',
    scenario: 'transactions',
    oracles: ['metrics-reconcile'],
    seedsMax: 10,
  },
  {
    name: 'stream-error-counted-twice',
    code: 'M120',
    title: 'an error answer of a job or a listing is counted where it is made and again where it is sent',
    file: 'engine/api/pbc/session.js',
    find: 'reply = this.#errorReply(error, purpose);',
    replace: `if (isStreamed(call))
                this.#errorReply(error, purpose);
            reply = this.#errorReply(error, purpose);`,
    scenario: 'job-survives-node-crash',
    oracles: ['metrics-reconcile'],
    seedsMax: 20,
  },
  ...antiEntropyMutants,
  ...clientMutants,
  ...clusterMutants,
  ...harmlessEdits,
  ...oracleMutants,
  ...operatorMutants,
  ...batchMutants,
  ...readMutants,
  ...randomTransactionMutants,
];
