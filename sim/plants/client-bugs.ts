/** Planted bugs of what clients talk to: their names for transactions, the Redis protocol (numbers follow the catalogue's). */
import type { PlantedBug } from './plant.ts';

export const clientBugs: readonly PlantedBug[] = [
  {
    id: 'M46',
    title: 'a node does not remember under which name of a client it carried a transaction out',
    file: 'engine/xa/client-names.js',
    find: 'const done = this.#records.get(clientId);',
    replace: 'const done = this.#records.get(`${clientId} once more`);',
    scenario: 'client-retries-with-id',
    oracles: ['INV1', 'INV2', 'INV8'],
    seedsMax: 10,
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
    replace: 'this.#exchanges.length < inFlightMax',
    scenario: 'redis-counters',
    oracles: ['INV23'],
    seedsMax: 20,
  },
  {
    id: 'M49',
    title: 'replies of pipelined Redis commands leave as they are ready, not as they were asked for',
    file: 'engine/api/redis/session.js',
    find: 'if (this.#exchanges[0] === exchange)',
    replace: `const ready = this.#exchanges.indexOf(exchange);
        if (ready > 0)
            this.#exchanges.unshift(...this.#exchanges.splice(ready, 1));
        if (this.#exchanges[0] === exchange)`,
    scenario: 'redis-multi',
    oracles: ['INV8', 'INV24'],
    seedsMax: 50,
  },
];
