/** Mutants of requests that travel together: the writes and reads of a pipeline, and the batches of transactions. */
import type { Mutant } from './mutant.ts';

/** Mutants that scenarios with pipelines must detect. */
export const batchMutants: readonly Mutant[] = [
  {
    name: 'batched-write-before-own-sync',
    code: 'M250',
    title: 'SETs that travel together: a node counts its own copy before that is synced',
    file: 'engine/replication/write-batch.js',
    find: 'this.#bytes[index] = bytes;',
    replace: 'this.#bytes[index] = bytes; this.durable(index);',
    scenario: 'redis-pipelines',
    oracles: ['durable-before-ack'],
    seedsMax: 3,
  },
  {
    name: 'failed-part-counts-as-durable',
    code: 'M251',
    title: 'SETs that travel together: a node counts its own copy of one that its disk refused',
    file: 'engine/replication/write-batch.js',
    find: `            const round = this.#roundOf(index);
            if (round !== undefined)
                round.failed(error);
            return;`,
    replace: `            this.durable(index);
            return;`,
    scenario: 'redis-pipelines',
    oracles: ['durable-before-ack', 'session-guarantees'],
    seedsMax: 12,
  },
  {
    name: 'batched-write-misses-no-replica',
    code: 'M252',
    title: 'SETs that travel together: a replica that took none of them gets no hint of the first',
    file: 'engine/replication/write-batch.js',
    find: `for (let at = 0; at < indexes.length; at++) {
            const index = indexes[at] ?? 0;
            const target = targets[at] ?? 0;
            if (this.#missing[index] === 0`,
    replace: `for (let at = 1; at < indexes.length; at++) {
            const index = indexes[at] ?? 0;
            const target = targets[at] ?? 0;
            if (this.#missing[index] === 0`,
    scenario: 'redis-pipelines',
    oracles: ['hint-delivery'],
    seedsMax: 15,
  },
  {
    name: 'transaction-batch-before-own-sync',
    code: 'M253',
    title: 'a batch of a transaction counts as stored at its node before it is synced there',
    file: 'engine/replication/batch-round.js',
    find: `        for (const share of this.#shares)
            this.#sendShare(share, timeoutUs);
    }
    /** The caller reports`,
    replace: `        this.#answer(this.#parts.self, true);
        for (const share of this.#shares)
            this.#sendShare(share, timeoutUs);
    }
    /** The caller reports`,
    scenario: 'redis-pipelines',
    oracles: ['durable-before-ack', 'session-guarantees'],
    seedsMax: 12,
  },
  {
    name: 'batched-answers-to-other-keys',
    code: 'M254',
    title: 'the answer to one of the GETs that travel together goes to another key',
    file: 'engine/replication/read-batch.js',
    find: 'this.#found(indexes[at] ?? 0, targets[at] ?? 0, object);',
    replace:
      'this.#found(indexes[indexes.length - 1 - at] ?? 0, targets[indexes.length - 1 - at] ?? 0, object);',
    scenario: 'redis-pipelines',
    oracles: ['causality', 'session-guarantees'],
    seedsMax: 2,
  },
];
