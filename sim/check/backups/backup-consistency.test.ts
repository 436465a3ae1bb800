import { describe, expect, it } from 'vitest';

import type { BackupContents, BackupRecord } from '../../evidence/backups.ts';
import type { TransactionRecord, TransactionValue } from '../../evidence/transactions.ts';
import { nothingPruned } from '../../evidence/prunings.ts';
import { blankTransaction } from '../../evidence/transaction-fixture.ts';
import { putAt } from '../history-fixture.ts';
import { wholeDisks } from '../objects/disk-losses.ts';
import { transactionFindings } from '../transactions/transactions.ts';
import { checkBackups } from './backup-consistency.ts';

const empty: BackupContents = {
  objects: [],
  transactionKeys: [],
  redisKeys: [],
  inDoubt: [],
  aborted: [],
  unreadable: 0,
};

/** A backup whose moment lies between 100 and 110. */
function backup(contents: Partial<BackupContents>, over: Partial<BackupRecord> = {}): BackupRecord {
  return {
    ...{ id: 'k0', invokedUs: 90, completedUs: 200, outcome: 'ok', reason: '', nodes: ['n1', 'n2', 'n3'] },
    ...{ heldUs: 100, releasedUs: 110, leftBehind: [], contents: { ...empty, ...contents } },
    ...over,
  };
}

const of = (...values: string[]): Pick<BackupContents, 'objects'> => ({ objects: [{ key: 'b/k', values }] });

/** The first reason, or an empty text. */
function complaint(record: BackupRecord, history = [putAt(10, 'old'), putAt(105, 'new')]): string {
  const evidence = {
    ...{ backups: [record], history, diskLosses: wholeDisks, prunings: nothingPruned },
    ...{ transactions: undefined, redis: [], clockErrors: new Map() },
  };
  return checkBackups(evidence).reasons[0] ?? '';
}

describe('objects of a backup', () => {
  it('are what clients had been told by then; what was written meanwhile may be there', () => {
    expect(complaint(backup(of('old')))).toBe('');
    expect(complaint(backup(of('old', 'new')))).toBe('');
    expect(complaint(backup(of('new')))).toContain('an acknowledged write is lost');
    expect(complaint(backup(of()))).toContain('an acknowledged write is lost');
    expect(complaint(backup(of('old', 'ghost')))).toContain('which no client wrote');
  });

  it('show no write without what was acknowledged before it began', () => {
    const history = [putAt(10, 'old'), putAt(102, 'first', { key: 'b/other' }), putAt(105, 'new')];
    const other = { key: 'b/other', values: [] };
    const both = { objects: [...of('old', 'new').objects, other] };
    expect(complaint(backup(both), history)).toContain('an acknowledged write is lost');
    expect(complaint(backup({ objects: [...of('old').objects, other] }), history)).toBe('');
  });

  it('show no write that began after the nodes went on', () => {
    expect(complaint(backup(of('old', 'new')), [putAt(10, 'old'), putAt(120, 'new')])).toContain(
      'after its nodes went on',
    );
  });

  it('are none where nobody wrote any', () => {
    expect(complaint(backup(of()), [])).toBe('');
    expect(complaint(backup(of('ghost')), [])).toContain('which no client wrote');
  });
});

it('a backup that was not taken is skipped; one that was must be readable, whole and certain', () => {
  const none = { outcome: 'fail', reason: 'n2 is down', contents: undefined } as const;
  expect(complaint(backup({}, none))).toBe('');
  expect(complaint(backup({}, { ...none, outcome: 'ok' }))).toContain('cannot be read back');
  expect(complaint(backup({ ...of('old'), unreadable: 1 }))).toContain('no copy can be read');
  expect(complaint(backup({ ...of('old'), inDoubt: ['n1-1'] }))).toContain('n1-1');
});

describe('transactions of a backup', () => {
  const value = (tag: string, ...list: number[]): TransactionValue => ({ tag, balance: undefined, list });
  const twin: TransactionRecord = {
    ...blankTransaction,
    ...{ kind: 'twin', invokedUs: 10, completedUs: 20 },
    reads: ['twins/w0.0', 'twins/w0.1'].map((key) => ({ key, value: undefined })),
    writes: ['twins/w0.0', 'twins/w0.1'].map((key, at) => {
      return { key, value: value(`«w:x0:0.${at}»`, 0), durableCopies: 3 };
    }),
  };

  function broken(record: TransactionRecord, lists: readonly (readonly number[])[]): boolean {
    const transactionKeys = lists.map((list, at) => ({
      key: `twins/w0.${at}`,
      value: list.length === 0 ? undefined : value(`«w:x0:0.${at}»`, ...list),
    }));
    const records = { steps: [], history: [record], heard: [], dangling: [], liveness: [], left: [] };
    const transactions = transactionFindings({
      ...records,
      ...{ accounts: 0, firstBalance: 0, answerUsMax: 1, lost: [], missed: [], replacements: new Map() },
      ...{ wipes: [], shortened: [], forgetful: [] },
    });
    const backups = [backup({ transactionKeys })];
    return !checkBackups({
      backups,
      history: [],
      diskLosses: wholeDisks,
      prunings: nothingPruned,
      transactions,
      ...{ redis: [], clockErrors: new Map() },
    }).ok;
  }

  it('are there whole, if they were committed before', () => {
    expect(broken(twin, [[0], [0]])).toBe(false);
    expect(broken(twin, [[0], []])).toBe(true);
    expect(broken(twin, [[], []])).toBe(true);
  });

  it('are there whole or not at all, if they were under way', () => {
    const late: TransactionRecord = { ...twin, invokedUs: 101, completedUs: 150 };
    expect(broken(late, [[0], [0]])).toBe(false);
    expect(broken(late, [[], []])).toBe(false);
    expect(broken(late, [[0], []])).toBe(true);
  });
});

it('a backup that is over holds no writes, taken or not', () => {
  const held = { leftBehind: ['no call let n1 (k0-1) go on'] };
  expect(complaint(backup(of('old'), held))).toContain('n1 (k0-1)');
  expect(complaint(backup({}, { ...held, outcome: 'fail', contents: undefined }))).toContain('is over');
});

describe('a branch that an operator has committed', () => {
  const decided = {
    atUs: 50,
    node: 'n2',
    step: 'branch.decided',
    xid: 'n1-1',
    fields: { decision: 'commit' },
  };
  const aborted: Partial<BackupContents> = { aborted: ['n1-1'] };
  const broken = (
    steps: readonly (typeof decided)[],
    contents: Partial<BackupContents> = aborted,
  ): boolean => {
    const transactions = transactionFindings({
      ...{
        history: [],
        heard: [],
        steps,
        accounts: 0,
        firstBalance: 0,
        answerUsMax: 1,
        lost: [],
        missed: [],
      },
      ...{
        replacements: new Map(),
        wipes: [],
        shortened: [],
        forgetful: [],
        dangling: [],
        liveness: [],
        left: [],
      },
    });
    return !checkBackups({
      ...{ history: [], diskLosses: wholeDisks, prunings: nothingPruned },
      backups: [backup(contents)],
      transactions,
      ...{ redis: [], clockErrors: new Map() },
    }).ok;
  };

  it('makes its transaction committed in the backup', () => {
    expect(broken([decided])).toBe(true);
    expect(broken([decided], {})).toBe(false);
    expect(broken([{ ...decided, fields: { decision: 'rollback' } }])).toBe(false);
  });

  it('says nothing before it is durable, nor once its coordinator has been heard', () => {
    expect(broken([{ ...decided, atUs: 105 }])).toBe(false);
    expect(broken([decided, { ...decided, atUs: 80, step: 'branch.mixed' }])).toBe(false);
  });
});
