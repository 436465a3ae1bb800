/** Planted bugs of what clients talk to: names for transactions, Redis, MapReduce (numbers follow the catalogue's). */
import type { Mutant } from './mutant.ts';

export const clientBugs: readonly Mutant[] = [
  {
    id: 'M46',
    title: 'nodes do not remember under which name of a client a transaction was carried out',
    file: 'engine/transactions/idempotency/idempotency-keys.js',
    find: 'this.#records.set(clientId, record);',
    replace: 'this.#records.set(`${clientId} once more`, record);',
    scenario: 'client-retries-with-id',
    oracles: ['INV1', 'INV2', 'INV8'],
    seedsMax: 10,
  },
  {
    id: 'M88',
    title: 'the other replicas are not told under which name of a client they get a batch',
    file: 'engine/replication/batch-round.js',
    find: 'const named = clientName === undefined ? {} : { clientName };',
    replace: 'const named = clientName === null ? { clientName } : {};',
    scenario: 'retries-after-a-loss',
    oracles: ['INV2', 'INV8'],
    seedsMax: 5,
  },
  {
    id: 'M89',
    title: 'a primary does not ask the other owners of a key for what it cannot know of a client’s name',
    file: 'engine/transactions/idempotency/lookup.js',
    find: 'if (nodes.size === 0)',
    replace: 'if (nodes.size >= 0)',
    scenario: 'retries-on-an-old-disk',
    oracles: ['INV8'],
    seedsMax: 10,
  },
  {
    id: 'M90',
    title: 'whoever takes over a range does not learn under which names of clients it was written',
    file: 'engine/cluster/changes/transfer.js',
    find: 'await this.#parts.names.pull(from.node, range);',
    replace: 'await this.#parts.names.pull.name;',
    scenario: 'retries-on-the-move',
    oracles: ['INV2', 'INV8'],
    seedsMax: 50,
  },
  {
    id: 'M47',
    title: 'commands that read and write do not make their commit depend on what they read',
    file: 'engine/api/redis/changes.js',
    find: 'ifMatch: read?.context, ifAbsent: read === undefined',
    replace: 'ifMatch: undefined, ifAbsent: false',
    scenario: 'redis-counters',
    oracles: ['INV8'],
    seedsMax: 10,
  },
  {
    id: 'M48',
    title: 'a Redis connection takes commands although its client reads nothing',
    file: 'engine/api/redis/session.js',
    find: `this.#writable &&
            this.#exchanges.length < inFlightMax`,
    replace: 'this.#writable !== undefined && this.#exchanges.length < inFlightMax',
    scenario: 'redis-counters',
    oracles: ['INV23'],
    seedsMax: 20,
  },
  {
    id: 'M49',
    title: 'inputs whose replica died in the middle of a job are left out of its answer',
    file: 'engine/mapreduce/map-stage.js',
    find: 'return entries.map(({ pending }) => pending);',
    replace: 'return entries.slice(0, 0).map(({ pending }) => pending);',
    scenario: 'job-survives-node-crash',
    oracles: ['INV28'],
    seedsMax: 20,
  },
  {
    id: 'M50',
    title: 'what a replica answers goes to the first places of a job, not to those of its inputs',
    file: 'engine/mapreduce/map-stage.js',
    find: 'results[pending.place] = done.results[index]',
    replace: 'results[index] = done.results[index]',
    scenario: 'job-survives-node-crash',
    oracles: ['INV28'],
    seedsMax: 5,
  },
  {
    id: 'M55',
    title: 'an object at which a phase runs out of its fuel, or traps, is left out of the job',
    file: 'engine/mapreduce/phase-worker.js',
    find: 'done.fail(failureOf(error));',
    replace: 'done.add([failureOf(error)].slice(1));',
    scenario: 'runaway-module',
    oracles: ['INV28'],
    seedsMax: 10,
  },
  {
    id: 'M56',
    title: 'replies of a Redis connection leave in the order in which they are ready',
    file: 'engine/api/redis/session.js',
    find: `exchange.reply = reply;
        this.#window.answered(reply.length);
        this.#owedBytes += reply.length;
        if (this.#exchanges[0] === exchange)
            this.#gather();`,
    replace: `(this.#exchanges.find((one) => one.reply === undefined) ?? exchange).reply = reply;
        this.#window.answered(reply.length);
        this.#owedBytes += reply.length;
        this.#gather();`,
    scenario: 'redis-multi',
    oracles: ['INV20'],
    seedsMax: 10,
  },
  {
    id: 'M57',
    title: 'whoever has any token may do everything over one of the listeners',
    file: 'engine/auth/gate.js',
    find: 'if (mayUse(role, needed))',
    replace: "if (mayUse(role, needed) || listener === 'redis')",
    scenario: 'strangers-at-the-door',
    oracles: ['INV33'],
    seedsMax: 5,
  },
];
