/**
 * Every sentence of the guarantees page has its invariants, or a reason why none judges it; and the page says what faults
 * take from it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { faultKindNames } from '../faults/fault-table.ts';
import { faultContract } from '../plan/swarm/fault-contract.ts';
import { invariantNames } from './invariants.ts';

const root = new URL('../../', import.meta.url);

interface Row {
  /** The beginning of the sentence, or all of it. */
  readonly sentence: string;
  readonly judges: readonly string[];
  readonly note: string;
}

/** The page's text, without the targets of its links: they differ from folder to folder. */
function read(path: string): string {
  return readFileSync(new URL(path, root), 'utf8').replaceAll(/\]\([^)]*\)/g, ']');
}

/** The sentences of a page; a row of a table is one, with its cells joined by colons. */
function sentencesOf(page: string): readonly string[] {
  const lines = page.split('\n').filter((line) => line !== '' && !/^(#|\|\s*(level|-))/.test(line));
  return lines.flatMap((line) =>
    line.startsWith('|')
      ? [cellsOf(line).join(': ')]
      : line
          .replace(/^- /, '')
          .split(/(?<=[.)])\s+(?=[A-Z`])/)
          .map((sentence) => sentence.trim()),
  );
}

function cellsOf(line: string): readonly string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function quoted(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

const [sentences = '', takings = ''] = read('sim/docs/guarantees.md').split('## What faults take from it');

const rows: readonly Row[] = sentences
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\|\s*(sentence|-)/.test(line))
  .map((line) => {
    const [sentence = '', judges = '', note = ''] = cellsOf(line);
    return { sentence: sentence.replace(/ …$/, ''), judges: quoted(judges), note };
  });

describe('the table of guarantees', () => {
  it('has each sentence of the guarantees page, in its order, and no other', () => {
    const sentences = sentencesOf(read('engine/docs/guarantees.md'));
    const starts = sentences.map((sentence, index) => sentence.slice(0, rows[index]?.sentence.length ?? 0));
    expect(starts).toEqual(rows.map(({ sentence }) => sentence));
    expect(sentences.length).toBe(rows.length);
  });

  it('names only invariants and files that exist, and a reason where no invariant judges', () => {
    for (const { sentence, judges, note } of rows) {
      expect(invariantNames, sentence).toEqual(expect.arrayContaining([...judges]));
      expect(judges.length > 0 || note.length > 15, sentence).toBe(true);
      for (const file of quoted(note).filter((name) => name.endsWith('.ts')))
        expect(existsSync(new URL(file, root)), file).toBe(true);
    }
  });
});

describe('the table of what faults take', () => {
  it('is the contract of faults', () => {
    const listed = takings
      .split('\n')
      .filter((line) => line.startsWith('|') && !/^\|\s*(faults|-)/.test(line))
      .flatMap((line) => {
        const [kinds = '', invariant = '', extent = '', reason = ''] = cellsOf(line);
        return quoted(kinds).map((kind) => [kind, quoted(invariant)[0] ?? '', extent, reason].join(' | '));
      });
    const contracted = faultKindNames.flatMap((kind) => {
      const terms = faultContract[kind];
      const rowsOf = (extent: string, of: Readonly<Record<string, string>> = {}): string[] =>
        Object.entries(of).map(([name, reason]) => [kind, name, extent, reason].join(' | '));
      return [
        ...(terms.drawn ? rowsOf('not judged', terms.excuses) : rowsOf('not drawn', { '': terms.reason })),
        ...rowsOf('in part', terms.exceptions),
      ];
    });
    expect(listed.toSorted()).toEqual(contracted.toSorted());
  });
});
