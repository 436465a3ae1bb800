import { expect, test } from 'vitest';

import { defaultConfig } from '../../config/config.ts';
import type { NodeId } from '../../base/ids.ts';
import { descriptorsMax } from '../../real/descriptors.ts';
import { fitConnections } from './descriptors.ts';

const config = defaultConfig('lockstep', { name: 'n1' as NodeId });
const listeners = [config.listen, config.pbListen, config.redisListen].filter(
  (address) => address !== undefined,
).length;

test('the system reports its descriptor limit', () => {
  expect(descriptorsMax()).toBeGreaterThan(100);
});

test('clients get the configured connections if the limit allows', () => {
  const { config: fitted, notice } = fitConnections(config, 65_536);
  expect([fitted.clientConnectionsMax, notice]).toEqual([config.clientConnectionsMax, undefined]);
  expect(fitConnections(config, Infinity).config).toBe(config);
});

test('clients get what the stores and the peers leave, and the notice says what to do', () => {
  const { config: fitted, notice } = fitConnections(config, 1024);
  expect(fitted.clientConnectionsMax * listeners).toBeLessThan(1024 - 200);
  expect(fitted.clientConnectionsMax).toBeGreaterThan(100);
  expect(notice?.level).toBe('info');
  expect(notice?.detail).toBe(
    `client_connections_max is ${fitted.clientConnectionsMax} instead of 10000, since the system lets this process open 1024 files and connections: raise the limit of open files (ulimit -n, LimitNOFILE=) to ${208 + 10_000 * listeners}`,
  );
});

test('lowering a number that the configuration asked for is a warning', () => {
  const asked = { ...config, clientConnectionsMax: 5000 };
  expect(fitConnections(asked, 1024).notice?.level).toBe('warn');
  expect(fitConnections(asked, 65_536).notice).toBeUndefined();
});

test('a node that could serve no client does not start', () => {
  expect(() => fitConnections(config, 128)).toThrow(
    `the system lets this process open 128 files and connections; a node needs ${208 + 4 * listeners}: raise the limit of open files`,
  );
});
