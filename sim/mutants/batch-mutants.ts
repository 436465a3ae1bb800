/** Mutants of requests that travel together: the writes and the reads of a pipeline. */
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
    name: 'refused-part-counts',
    code: 'M255',
    title: 'SETs that travel together: a replica that refuses one of them counts as having it',
    file: 'engine/replication/write-batch.js',
    find: "if (end.kind === 'written' && end.sole === true)",
    replace: "if (end.kind === 'failed' || end.sole === true)",
    scenario: 'redis-pipelines-hinted',
    oracles: ['durable-before-ack', 'hint-delivery'],
    seedsMax: 8,
  },
  {
    name: 'unanswered-share-counts',
    code: 'M256',
    title: 'SETs that travel together: a replica that answers none of them counts as having all',
    file: 'engine/replication/write-batch.js',
    find: `this.#unasked(share, replyFailure(reply));
            return;`,
    replace: `for (const [at, index] of indexes.entries())
                this.#has(index, targets[at] ?? 0);
            return;`,
    scenario: 'redis-pipelines-hinted',
    oracles: ['durable-before-ack', 'hint-delivery'],
    seedsMax: 10,
  },
  {
    name: 'unanswered-share-without-hint',
    code: 'M258',
    title: 'SETs that travel together: no hints for a replica that answers none of them',
    file: 'engine/replication/write-batch.js',
    find: `if (this.#missing[index] === 0 && this.#rounds[index] === undefined)
                this.#missed(index, target);`,
    replace: `if (this.#missing[index] === 0 && this.#rounds[index] === undefined)
                continue;`,
    scenario: 'redis-pipelines-cut-off',
    oracles: ['hint-delivery'],
    seedsMax: 3,
  },
  {
    name: 'failed-part-without-hint',
    code: 'M259',
    title: 'SETs that travel together: no hint for a replica that refuses one of them',
    file: 'engine/replication/write-batch.js',
    find: `else if (end.kind === 'failed')
            this.#missed(index, target);`,
    replace: 'else return;',
    scenario: 'redis-pipelines-cut-off',
    oracles: ['hint-delivery'],
    seedsMax: 5,
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
  {
    name: 'own-refused-write-counts',
    code: 'M260',
    title: 'SETs that travel together: a node counts its own copy although its disk has failed to write it',
    file: 'engine/replication/write-batch.js',
    find: `if (round !== undefined)
                round.failed(error);`,
    replace: `if (round !== undefined)
                round.durable();`,
    scenario: 'redis-pipelines-own-disk',
    oracles: ['durable-before-ack'],
    seedsMax: 5,
  },
  {
    name: 'failed-read-is-not-found',
    code: 'M261',
    title:
      'GETs that travel together: a replica that cannot read one of the keys counts as one that lacks it',
    file: 'engine/replication/read-batch.js',
    find: 'this.#told(index, target, object, undefined);',
    replace: 'this.#told(index, target, undefined, undefined);',
    scenario: 'redis-reads-fail',
    oracles: ['session-guarantees', 'causality', 'quorum-intersection'],
    seedsMax: 5,
  },
  {
    name: 'silent-replica-of-batch-not-replaced',
    code: 'M269',
    title: 'GETs that travel together: no other replica is asked when one is silent',
    file: 'engine/replication/read-batch.js',
    find: 'this.#ask(this.#shares(rest), leftUs);',
    replace: 'if (leftUs > 0) this.#shares(rest);',
    scenario: 'redis-one-replica-silent',
    oracles: ['quorum-intersection'],
    seedsMax: 5,
  },
  {
    name: 'failed-replica-of-batch-not-replaced',
    code: 'M271',
    title: 'GETs that travel together: no other replica is asked for what one cannot read',
    file: 'engine/replication/read-batch.js',
    find: 'const rest = everyTarget(read.plan) & ~(this.#asked[index] ?? 0);',
    replace: 'const rest = everyTarget(read.plan) & 0;',
    scenario: 'redis-one-replica-silent',
    oracles: ['quorum-intersection'],
    seedsMax: 5,
  },
];
