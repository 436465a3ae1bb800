import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { LogFields } from '../io/log.ts';
import { threeCredentials, tokens } from './credentials.fixture.ts';
import { digestOf } from './credentials.ts';
import type { Identity } from './gate.ts';
import { Gate } from './gate.ts';
import { mayUse, roles } from './role.ts';

function setting(): { gate: Gate; told: LogFields[]; counted: () => Record<string, number> } {
  const told: LogFields[] = [];
  const log = { enabled: () => true, event: (_: string, __: string, fields = {}) => void told.push(fields) };
  const clock = { nowUs: () => 0 };
  const gate = new Gate({ log, clock }, threeCredentials);
  const counted = (): Record<string, number> =>
    Object.fromEntries(
      gate.family
        .collect()
        .filter(({ value }) => value > 0)
        .map(({ labels, value }) => [`${labels['listener']} ${labels['reason']}`, value]),
    );
  return { gate, told, counted };
}

test('each role includes those before it', () => {
  const table = roles.map((held) => roles.map((needed) => mayUse(held, needed)));
  expect(table).toEqual([
    [true, false, false],
    [true, true, false],
    [true, true, true],
  ]);
  for (const held of roles) expect(mayUse(held, 'open')).toBe(true);
});

test('a token is accepted alone or with its own name, and with no other', () => {
  const { gate } = setting();
  for (const role of roles) expect(gate.identify(tokens[role])?.role).toBe(role);
  expect(gate.identify(tokens.read, 'rita')?.name).toBe('rita');
  expect(gate.identify(Buffer.from(tokens.read), 'default')?.name).toBe('rita');
  expect(gate.identify(tokens.read, 'anna')).toBeUndefined();
  expect(gate.identify(tokens.admin.slice(1))).toBeUndefined();
  expect(gate.identify('x'.repeat(5000))).toBeUndefined();
});

test('an unknown token identifies no client', () => {
  const { gate } = setting();
  const known = Object.values(tokens);
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.uint8Array({ maxLength: 2000 })), fc.string(), (token, name) => {
      if (typeof token === 'string' && known.includes(token)) return;
      expect(gate.identify(token, name)).toBeUndefined();
    }),
  );
});

test('a refusal is counted by listener and reason, and logged without a token or a given name', () => {
  const { gate, told, counted } = setting();
  const rita = gate.identify(tokens.read);
  expect(() => gate.admit('http', 'h:1', undefined, 'read')).toThrow('credentials are required');
  expect(() => gate.admit('pb', 'h:1', rita, 'write')).toThrow('rita has the role read; this asks for write');
  gate.refuse('redis', 'h:1', 'wrong');
  gate.refuse('redis', 'h:1', 'wrong');
  gate.admit('http', 'h:1', rita, 'read');
  gate.admit('http', 'h:1', undefined, 'open');
  expect(counted()).toEqual({ 'http missing': 1, 'pb forbidden': 1, 'redis wrong': 2 });
  expect(told.map((fields) => Object.entries(fields).join(' '))).toEqual([
    'listener,http remote,h:1 reason,missing',
    'listener,pb remote,h:1 reason,forbidden name,rita',
    'listener,redis remote,h:1 reason,wrong',
    'listener,redis remote,h:1 reason,wrong',
  ]);
});

test('an open gate admits every client and counts none', () => {
  const gate = new Gate(
    { log: { enabled: () => false, event: () => undefined }, clock: { nowUs: () => 0 } },
    undefined,
  );
  expect(gate.open).toBe(true);
  gate.admit('http', 'h:1', undefined, 'admin');
  expect(gate.family.collect().every(({ value }) => value === 0)).toBe(true);
});

test('new credentials take effect at once: removed ones are revoked, remaining ones stay valid', () => {
  const { gate } = setting();
  const [rita, will] = [gate.identify(tokens.read), gate.identify(tokens.write)];
  const [first, , third] = threeCredentials;
  const promoted = { name: 'will', role: 'admin', digest: digestOf(tokens.write) } as const;
  gate.replace([first, promoted, third].filter((one) => one !== undefined));
  expect([rita?.revoked, will?.revoked]).toEqual([false, true]);
  const may = (identity: Identity | undefined) => () => gate.admit('pb', 'h:1', identity, 'read');
  expect(may(rita)).not.toThrow();
  expect(may(will)).toThrow('credentials are required');
  expect(gate.identify(tokens.write)?.role).toBe('admin');
  gate.replace([]);
  expect(gate.open).toBe(false);
  expect(may(rita)).toThrow('credentials are required');
});
