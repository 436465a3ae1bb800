/** Runs one node from its configuration file to its orderly stop, with its reloads and restarts. */
import { dirname } from 'node:path';

import type { ErrorCode } from '../../base/errors.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeConfig } from '../../config/config.ts';
import { DiskError } from '../../io/disk.ts';
import type { Io } from '../../io/io.ts';
import type { NodeAddresses, NodeSecrets } from '../../node/node.ts';
import { Node } from '../../node/node.ts';
import { readConsolePage } from '../../real/console-page.ts';
import { descriptorsMax } from '../../real/descriptors.ts';
import { createRealIo } from '../../real/io.ts';
import { dataDirectoryOf, readConfigFile } from '../files/config-file.ts';
import { credentialsOf } from '../files/credentials-file.ts';
import { fitConnections } from './descriptors.ts';
import { tieToCluster } from './cluster-ties.ts';
import type { NodeTls } from '../files/tls-files.ts';
import { tlsOf } from '../files/tls-files.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes, named } from '../exit-codes.ts';
import { onReloadRequest, stopRequests } from './signals.ts';
import { reloadSecrets } from './reload.ts';
import { runRenewed } from './renewed.ts';

/**
 * Runs the node of a configuration file until a stop is requested or the node has left its cluster. Restarts the node
 * when its full disk has free space again, and when its peers have assigned it other tokens than its file has.
 */
export async function start(file: string): Promise<ExitCode> {
  const { config, notice } = fitConnections(readConfigFile(file, process.env), descriptorsMax());
  const tls = tlsOf(file, config);
  const dataDirectory = dataDirectoryOf(file, config);
  const io = createRealIo({
    tls,
    dataDirectory,
    configDirectory: dirname(file),
    logLevel: config.logLevel,
    unreadBytesMax: config.clientAnswerBytesMax,
    node: config.name,
    onFailedAssertion: endProcess,
  });
  if (notice !== undefined) io.log.event(notice.level, 'node.connections.lowered', { detail: notice.detail });
  const page = readConsolePage();
  const asked = stopRequests();
  const tie = await tieToCluster(file);
  const stopRequested = Promise.race([asked, tie.cut]);
  const running: Running = { node: undefined, io, tls, reloadMissed: false };
  onReloadRequest(() => reload(running, file, config));
  const starting = async (tokens = config.tokens): Promise<Node> => {
    running.node = undefined;
    const own = { ...config, tokens };
    const node = await startIn(dataDirectory, () => Node.start(io, own, secretsOf(file, config), page));
    running.node = node;
    if (running.reloadMissed) reload(running, file, config);
    console.log(describeAddresses(config.name, node.addresses));
    tie.serves();
    return node;
  };
  await runRenewed(io, starting, stopRequested);
  if (io.failedTasks() === 0) return exitCodes.done;
  throw new Error(
    `${io.failedTasks()} tasks failed while the node ran, which is a bug; the log has each as task.failed`,
  );
}

/**
 * Ends the process as a crash does: nothing more is answered, written or sent. What was acknowledged is on the disk, and
 * the next start recovers it.
 */
function endProcess({ message }: Error): never {
  console.error(`lockstep: an assertion failed, which is a bug, so the node ends: ${message}`);
  process.exit(exitCodes.failed);
}

/** Adds the data directory to errors of files, since the engine knows only the names below it. */
async function startIn(dataDirectory: string, starting: () => Promise<Node>): Promise<Node> {
  try {
    return await starting();
  } catch (error) {
    if (isOfFiles(error)) throw named(`data_dir ${dataDirectory}`, error);
    throw error;
  }
}

const codesOfFiles: readonly ErrorCode[] = [
  'Corrupted',
  'DirectoryLocked',
  'FormatUnsupported',
  'StorageFailed',
  'StoreForeign',
];

function isOfFiles(error: unknown): boolean {
  return error instanceof DiskError || (error instanceof LockstepError && codesOfFiles.includes(error.code));
}

interface Running {
  /** Undefined while the node starts. */
  node: Node | undefined;
  readonly io: Io;
  readonly tls: NodeTls;
  /** A reload was requested while the node was starting, which may have read the files before they changed. */
  reloadMissed: boolean;
}

function secretsOf(file: string, config: NodeConfig): NodeSecrets {
  const credentials = credentialsOf(file, config);
  return credentials === undefined ? {} : { credentials };
}

/** Reads certificates and credentials again. Logs what is wrong; of that the node keeps what it had. */
function reload(running: Running, file: string, config: NodeConfig): void {
  const { node, io, tls } = running;
  running.reloadMissed = node === undefined;
  const faults = reloadSecrets(tls, file, config, (credentials) => node?.replaceCredentials(credentials));
  for (const { message: detail } of faults) io.log.event('error', 'node.reload.refused', { detail });
}

/** For example `n1 serves HTTP on 127.0.0.1:8098, …`, without the listeners that are off. */
function describeAddresses(name: string, { http, pb, redis, peer, stats }: NodeAddresses): string {
  const listeners = { HTTP: http, 'the binary protocol': pb, Redis: redis, peers: peer, statistics: stats };
  const served = Object.entries(listeners).filter(([, address]) => address !== undefined);
  return `${name} serves ${served.map(([what, address]) => `${what} on ${address}`).join(', ')}`;
}
