/**
 * What people run today, and Lockstep: each with its own protocol and its usual settings for data that must survive, on
 * this machine. A value has the same length everywhere.
 *
 * - Lockstep: as many nodes as racks, so a copy at each, three unless told otherwise; each write synced at a majority before its answer; the binary protocol.
 * - etcd: as many members; gRPC. Its reads are linearizable, Lockstep's are quorum reads.
 * - redis-server: one process and one copy, synced with every write, or once a second.
 * - PostgreSQL: two servers; each write is a two-phase commit on both (the client coordinates, and keeps no log).
 */
import type { ClientHttp2Session } from 'node:http2';
import { connect } from 'node:http2';
import { join } from 'node:path';

import { freePort } from '../bench-process.ts';
import type { BenchProcess } from '../bench-process.ts';
import type { KeySpace } from '../load/conversations.ts';
import { pbAnswer, pbGetRequest, pbPutRequest } from '../load/conversations.ts';
import { childrenOf, familySeconds, processorSecondsOf } from '../processor-time.ts';
import { etcdCall, etcdVersion, startEtcd } from '../servers/etcd.ts';
import { LocalCluster } from '../servers/local-cluster.ts';
import { postgresPrograms, Session, startPostgres } from '../servers/postgres.ts';
import { isInstalled, redisServer } from '../servers/redis-contenders.ts';
import { Lane, respAnswer, respCommand } from './lanes.ts';

/** The clients of one connection. */
export interface PeerClient {
  read(key: string): Promise<void>;
  write(key: string): Promise<void>;
  close(): void;
}

/** One product under comparison, running. */
export interface PeerContender {
  readonly name: string;
  /** The processes now, children included. */
  pids(): readonly number[];
  /** Seconds of processor time of all of them so far. */
  processorSeconds(): number;
  open(lane: number): Promise<PeerClient>;
  /** Ends what `BenchProcess` does not. */
  stop(): Promise<void>;
}

interface Settings extends Pick<KeySpace, 'valueBytes'> {
  /** Sizes of clusters: one of Lockstep and one of etcd for each. */
  readonly nodes: readonly number[];
}

const basePort = 17_698;
/** The members of one etcd take two ports each from this one on. */
const etcdPort = 28_479;
/** Ports between those of two clusters of a product. */
const clusterPorts = 100;

/** Starts everything that is installed. `missing`: what is not. */
export async function startContenders(
  owner: BenchProcess,
  settings: Settings,
): Promise<{ readonly contenders: readonly PeerContender[]; readonly missing: readonly string[] }> {
  const directory = owner.directory();
  const contenders: PeerContender[] = [];
  const missing: string[] = [];
  for (const [index, nodes] of settings.nodes.entries())
    contenders.push(await lockstep(owner, directory, settings, nodes, basePort + index * clusterPorts));
  if (etcdVersion() === undefined) missing.push('etcd');
  else
    for (const [index, members] of settings.nodes.entries())
      contenders.push(await etcd(directory, settings, members, etcdPort + index * clusterPorts));
  if (!isInstalled('redis-server')) missing.push('redis-server');
  else
    for (const fsync of ['always', 'everysec'] as const)
      contenders.push(await redis(owner, join(directory, `redis-${fsync}`), fsync, settings));
  const programs = postgresPrograms();
  if (programs === undefined) missing.push('PostgreSQL');
  else contenders.push(await postgres(owner, programs, join(directory, 'postgres'), settings));
  return { contenders, missing };
}

async function lockstep(
  owner: BenchProcess,
  directory: string,
  settings: Settings,
  nodes: number,
  port: number,
): Promise<PeerContender> {
  const cluster = await LocalCluster.start(join(directory, `lockstep-${nodes}`), port, {
    form: { nodes, racks: nodes },
    began: (child) => owner.add(child, 'SIGINT'),
  });
  return {
    name: `Lockstep, ${counted(nodes, 'node')}`,
    pids: () => cluster.pids,
    processorSeconds: () => cluster.processorSeconds(),
    open: async (lane) => {
      const connection = await Lane.open(cluster.pbPort(lane % nodes));
      return {
        read: (key) => connection.ask(pbGetRequest(key), (received) => pbAnswer(received, 'got')),
        write: (key) =>
          connection.ask(pbPutRequest(settings, key), (received) => pbAnswer(received, 'stored')),
        close: () => connection.close(),
      };
    },
    stop: () => Promise.resolve(),
  };
}

async function etcd(
  directory: string,
  { valueBytes }: Settings,
  members: number,
  port: number,
): Promise<PeerContender> {
  const cluster = await startEtcd(join(directory, `etcd-${members}`), port, members);
  return {
    name: `etcd, ${counted(members, 'member')}`,
    pids: () => cluster.pids,
    processorSeconds: () => processorSecondsOf(cluster.pids),
    open: (lane) => {
      const { host, port } = cluster.endpoints[lane % cluster.endpoints.length] ?? { host: '', port: 0 };
      const session: ClientHttp2Session = connect(`http://${host}:${port}`);
      return Promise.resolve({
        read: (key: string) => etcdCall(session, 'get', key, valueBytes),
        write: (key: string) => etcdCall(session, 'put', key, valueBytes),
        close: () => session.close(),
      });
    },
    stop: () => cluster.stop(),
  };
}

async function redis(
  owner: BenchProcess,
  directory: string,
  fsync: 'always' | 'everysec',
  { valueBytes }: Settings,
): Promise<PeerContender> {
  const port = await freePort();
  const { pids } = await redisServer(owner, directory, port, fsync);
  const value = Buffer.alloc(valueBytes, 'v');
  return {
    name: `redis-server, ${fsync}`,
    pids: () => pids,
    processorSeconds: () => processorSecondsOf(pids),
    open: async () => {
      const connection = await Lane.open(port);
      return {
        read: (key) => connection.ask(respCommand('GET', key), respAnswer),
        write: (key) => connection.ask(respCommand('SET', key, value), respAnswer),
        close: () => connection.close(),
      };
    },
    stop: () => Promise.resolve(),
  };
}

async function postgres(
  owner: BenchProcess,
  programs: string,
  directory: string,
  { valueBytes }: Settings,
): Promise<PeerContender> {
  const ports = [await freePort(), await freePort()];
  const servers = await startPostgres(programs, directory, ports, (child) => owner.add(child, 'SIGINT'));
  const value = 'v'.repeat(valueBytes);
  let names = 0;
  return {
    name: 'PostgreSQL, 2 servers, 2PC',
    pids: () => servers.pids.flatMap((pid) => [pid, ...childrenOf(pid)]),
    processorSeconds: () => servers.pids.reduce((sum, pid) => sum + familySeconds(pid), 0),
    open: async () => {
      let sessions = await openSessions(ports);
      // A session that was silent for a while, as between two measurements, has ended.
      const ready = async (): Promise<readonly Session[]> => {
        if (!sessions.every(({ isOpen }) => isOpen)) sessions = await openSessions(ports);
        return sessions;
      };
      return {
        read: async (key) => {
          const [first] = await ready();
          await first?.query(`select value from bench where key = ${numberOf(key)}`);
        },
        write: async (key) =>
          twoPhase(await ready(), `'p${process.pid}-${(names += 1)}'`, numberOf(key), value),
        close: () => sessions.forEach((one) => one.close()),
      };
    },
    stop: () => Promise.resolve(),
  };
}

function openSessions(ports: readonly number[]): Promise<readonly Session[]> {
  return Promise.all(ports.map((port) => Session.open(port)));
}

/** Writes one row on every server, all or none. */
async function twoPhase(
  sessions: readonly Session[],
  name: string,
  key: number,
  value: string,
): Promise<void> {
  const write = `insert into bench values (${key}, '${value}') on conflict (key) do update set value = excluded.value`;
  try {
    // One server after the other: two writers of a key could otherwise wait for each other for ever.
    for (const one of sessions) await one.query(`begin; ${write}; prepare transaction ${name}`);
    await Promise.all(sessions.map((one) => one.query(`commit prepared ${name}`)));
  } catch (error) {
    for (const one of sessions)
      for (const undo of ['rollback', `rollback prepared ${name}`])
        await one.query(undo).catch(() => undefined);
    throw error;
  }
}

function numberOf(key: string): number {
  return Number(key.slice(1));
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
