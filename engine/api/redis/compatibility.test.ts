/** Compares the page of Redis's commands with the table of served commands and the recorded conversation. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commands } from './commands.ts';

const page = readFileSync(new URL('../../docs/redis.md', import.meta.url), 'utf8');
const recorded = ['redis-words', 'redis-messages']
  .map((name) => readFileSync(new URL(`testdata/${name}.txt`, import.meta.url), 'utf8'))
  .join('\n');

/** The commands of a section of the page: those at the beginning of its lines. */
function named(title: string): readonly string[] {
  const [, section = ''] = page.split(`## ${title}\n`);
  return (section.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => /^(?:- )?`[a-z]/.test(line))
    .flatMap((line) =>
      [...(line.split(': ')[0] ?? '').matchAll(/`([a-z_-]+)`/g)].map(([, name = '']) => name),
    );
}

test('the page names every served command once, as passed or partly, and no refused one', () => {
  const served = [...named('Passed'), ...named('Partly')];
  expect(served.toSorted()).toEqual([...commands.keys()].toSorted());
  expect(named('Refused').filter((name) => commands.has(name))).toEqual([]);
  // As many as redis-server 7.0.15 has.
  expect(new Set([...served, ...named('Refused')]).size).toBe(240);
});

test('every command that passes is compared with redis-server', () => {
  const compared = new Set(
    [...recorded.matchAll(/(?:^[a-z]?> |;; )([a-z_]+)/gim)].map(([, name = '']) => name.toLowerCase()),
  );
  expect(named('Passed').filter((name) => !compared.has(name))).toEqual([]);
});
