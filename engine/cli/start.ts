/** One node, from its configuration file to its orderly stop. */
import { dirname } from 'node:path';

import type { ErrorCode } from '../base/errors.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeConfig } from '../config/config.ts';
import { DiskError } from '../io/disk.ts';
import type { Io } from '../io/io.ts';
import type { NodeAddresses, NodeSecrets } from '../node/node.ts';
import { Node } from '../node/node.ts';
import { descriptorsMax } from '../real/descriptors.ts';
import { createRealIo } from '../real/io.ts';
import { dataDirectoryOf, readConfigFile } from './config-file.ts';
import { credentialsOf } from './credentials-file.ts';
import { fitConnections } from './descriptors.ts';
import { tieToCluster } from './cluster-ties.ts';
import type { NodeTls } from './tls-files.ts';
import { renewTls, tlsOf } from './tls-files.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodes, named } from './exit-codes.ts';
import { onReloadRequest } from './reload-requests.ts';
import { runRenewed } from './renewed.ts';
import { stopRequests } from './stop-requests.ts';

/**
 * Runs the node of a configuration file until it is asked to stop, or has left its cluster. A node whose disk was full and
 * has room again is started anew, and so is one whose tokens the cluster knows better than its file.
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
  });
  if (notice !== undefined) io.log.event(notice.level, 'node.connections.lowered', { detail: notice.detail });
  const asked = stopRequests();
  const tie = await tieToCluster(file);
  const stopRequested = Promise.race([asked, tie.cut]);
  const running: Running = { node: undefined, io, tls, reloadMissed: false };
  onReloadRequest(() => reload(running, file, config));
  const starting = async (tokens = config.tokens): Promise<Node> => {
    running.node = undefined;
    const own = { ...config, tokens };
    const node = await startIn(dataDirectory, () => Node.start(io, own, secretsOf(file, config)));
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

/** Why a node's files cannot be used is told with the place where they are: the engine knows only names below it. */
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
  /** Undefined: it starts. */
  node: Node | undefined;
  readonly io: Io;
  readonly tls: NodeTls;
  /** The node that starts may have read its files before they were changed. */
  reloadMissed: boolean;
}

function secretsOf(file: string, config: NodeConfig): NodeSecrets {
  const credentials = credentialsOf(file, config);
  return credentials === undefined ? {} : { credentials };
}

/** What cannot be read leaves things as they are: a node does not stop for a slip in a file. */
function reload(running: Running, file: string, config: NodeConfig): void {
  const { node, io, tls } = running;
  running.reloadMissed = node === undefined;
  try {
    renewTls(tls, file, config);
    const credentials = credentialsOf(file, config);
    if (credentials !== undefined) node?.replaceCredentials(credentials);
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    io.log.event('error', 'node.reload.refused', { detail: error.message });
  }
}

/** `n1 serves HTTP on 127.0.0.1:8098, …`, without what is off. */
function describeAddresses(name: string, { http, pb, redis, peer, stats }: NodeAddresses): string {
  const listeners = { HTTP: http, 'the binary protocol': pb, Redis: redis, peers: peer, statistics: stats };
  const served = Object.entries(listeners).filter(([, address]) => address !== undefined);
  return `${name} serves ${served.map(([what, address]) => `${what} on ${address}`).join(', ')}`;
}
