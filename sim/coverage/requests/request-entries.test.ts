/**
 * Compares the entries with what the engine accepts by its own tables and sources, in both directions: a new field of
 * the engine must get an entry, which says which client sends it, or why none does.
 */
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { commands } from '../../../engine/api/redis/commands.ts';
import { keyfuns } from '../../../engine/cluster/ring/token.ts';
import { propertyTable } from '../../../engine/buckets/properties.ts';
import * as sources from './accepted-sources.fixture.ts';
import { acceptedCommands } from './command-options.ts';
import { fieldsOf } from './entry.ts';
import { acceptedRoutes, everyRequest, jobEntry, propertyEntry, propertyField } from './http-fields.ts';
import { acceptedInMessages } from './message-fields.ts';
import { requestEntries } from './request-entries.ts';

const entries = new Map(requestEntries.map((entry) => [entry.request, entry]));

function allOf(request: string): readonly string[] {
  const entry = entries.get(request);
  if (entry === undefined) return [];
  const { sent, unsent } = fieldsOf(entry);
  return [...sent, ...unsent];
}

function sorted(names: Iterable<string>): readonly string[] {
  return [...new Set(names)].sort();
}

/** `RpbGetReq r`, of the requests whose names `isOne` knows. */
function pairs(isOne: (request: string) => boolean): readonly string[] {
  return sorted(
    [...entries.keys()]
      .filter(isOne)
      .flatMap((request) => allOf(request).map((field) => `${request} ${field}`)),
  );
}

const isHttp = (request: string): boolean => request.includes(' /');
const isMessage = (request: string): boolean => /^(Rpb|Lock)/.test(request);
const isCommand = (request: string): boolean => commands.has(request.toLowerCase());

describe('every request that the engine accepts has an entry with exactly its fields', () => {
  it('of the binary protocol, by its schema', () => {
    const accepted = acceptedInMessages().map((pair) => pair.join(' '));
    expect(pairs(isMessage)).toEqual(sorted(accepted));
  });

  it('of Redis, by the table of commands and the words in their sources', () => {
    const accepted = acceptedCommands();
    expect(pairs(isCommand)).toEqual(sorted(accepted.map((pair) => pair.join(' '))));
    /** Names of commands and libraries, and codes of errors. */
    const others =
      'ARGV CLIENT COMMAND CONFIG DISKFULL ERR INDOUBT KEYS NOPERM OBJECT PUBSUB RESET SCRIPT TRYAGAIN';
    const words = accepted.flatMap(([, field]) => (/^[A-Z]/.test(field) ? [field] : []));
    const found = sources.wordsOfCommands().filter((word) => !others.split(' ').includes(word));
    expect(found).toEqual(sorted(words));
  });

  it('of HTTP, by the table of routes', () => {
    expect([...entries.keys()].filter(isHttp).sort()).toEqual(sorted(acceptedRoutes()));
  });

  it('parameters of queries, by the sources of the handlers', () => {
    const listed = [...entries.keys()].flatMap(allOf).filter((field) => field.startsWith('?'));
    expect(sorted(listed)).toEqual(sorted(sources.queryParameters().map((name) => `?${name}`)));
    expect(sources.unnamedQueryParameters()).toEqual(['query.get(name)']);
  });

  it('headers, by the sources of the handlers', () => {
    const listed = [everyRequest, ...[...entries.keys()].filter(isHttp)]
      .flatMap(allOf)
      .filter((field) => /^[A-Z]/.test(field));
    expect(sorted(listed.map((name) => name.toLowerCase().replace('*', '')))).toEqual(sources.headersRead());
  });

  it('fields of a transaction over HTTP, by the sets that the parser has', () => {
    const listed = allOf('POST /transactions').filter((field) => /^[a-z]/.test(field));
    const names = listed.map((field) => field.replace('operations.', ''));
    const accepted = sources.listedFields(
      'api/http/transaction-body.ts',
      /Fields = new Set\(\[([^]*?)\]\);/g,
    );
    expect(sorted(names)).toEqual(accepted);
  });

  it('fields of a job, by the lists that the parser has', () => {
    const names = allOf(jobEntry).map((field) => field.replace(/^.*\./, ''));
    const kinds = ['map', 'reduce', 'link', 'wasm'];
    const lists = ['parse-job', 'parse-inputs', 'parse-phases'].flatMap((name) =>
      sources.listedFields(`mapreduce/${name}.ts`, /(?:checkFields\([^[]*|commonFields = )\[([^\]]*)\]/g),
    );
    expect(sorted([...names, ...kinds])).toEqual(sorted([...lists, ...kinds]));
  });

  it('bucket properties with each kind of value, by the table of properties', () => {
    const values = [true, false, 'default', 'one', 'quorum', 'all', 1, ...keyfuns, 'module', ''];
    const accepted = [...propertyTable].flatMap(([name, row]) =>
      values.filter((value) => row.parse(value) !== undefined).map((value) => propertyField(name, value)),
    );
    expect(sorted(allOf(propertyEntry))).toEqual(sorted(accepted));
  });
});

it('an entry names each of its fields once, and modules that exist', () => {
  expect(requestEntries.length).toBe(entries.size);
  for (const { request, sent } of requestEntries) {
    const all = allOf(request);
    expect(sorted(all).length, request).toBe(all.length);
    for (const module of Object.keys(sent))
      expect(existsSync(new URL(`../../${module}.ts`, import.meta.url)), module).toBe(true);
  }
});
