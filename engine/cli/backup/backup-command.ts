/**
 * `lockstep backup [take]|verify|list|expire`: backups of a running cluster in a directory or an S3 bucket
 * (`engine/backup`).
 */
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';

import { foldedHelp, gather } from '../help-text.ts';
import { backupDefaults, takeBackup } from '../../backup/take-backup.ts';
import { bytesOf } from '../../backup/manifest.ts';
import type { StorageLock } from '../../backup/backup-storage.ts';
import type { BackupManifest } from '../../backup/manifest.ts';
import { cutDefaults } from '../../backup/cut-protocol.ts';
import { chunkBytesMax, HttpBackupNode, leaseMsMax } from '../../backup/messages.ts';
import { verifyBackup } from '../../backup/verify-backup.ts';
import { parseDurationMs } from '../../base/durations.ts';
import { realClock } from '../../real/clock.ts';
import { newRepositoryAt, repositoryAt } from './repository-place.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes, UsageError } from '../exit-codes.ts';
import type { AskingOptions, KeptConnections } from '../operate/node-client.ts';
import { KeptConnections as Connections, NodeClient, withAskingOptions } from '../operate/node-client.ts';
import { painterFor, table } from '../terminal.ts';

interface TakeOptions extends AskingOptions {
  readonly node: readonly string[];
  readonly without: readonly string[];
  readonly lease: number;
  readonly bytesPerSecond?: number;
  readonly json?: boolean;
}

interface ExpireOptions {
  readonly keep: number;
  readonly json?: boolean;
}

interface ShowOptions {
  readonly json?: boolean;
}

/** Adds the command `backup` with its subcommands. `finish` gets the exit code. */
export function addBackupCommand(program: Command, finish: (code: ExitCode) => void): void {
  const command = program
    .command('backup')
    .description('back up a running cluster to a directory or S3; verify, list and expire backups')
    .addHelpText('after', foldedHelp(backupHelp));
  withAskingOptions(command.command('take', { isDefault: true }))
    .argument('<place>', 'the directory of backups, made if need be, or s3://BUCKET/PREFIX')
    .option('--node <address>', 'the HTTP listener of a member, as host:port; name every member', gather, [])
    .option('--without <name>', 'a member that may be missing; may be repeated', gather, [])
    .addOption(
      new Option('--lease <duration>', 'for how long a node may hold its writes back')
        .argParser(leaseMs)
        .default(cutDefaults.leaseMs, `${cutDefaults.leaseMs / 1000}s`),
    )
    .option(
      '--bytes-per-second <count>',
      `copy from each node at this pace, busy or not (default: at most ${backupDefaults.pace.bytesPerSecond}, and slower while nodes are busy)`,
      positive,
    )
    .option('--json', 'print one line of JSON')
    .addHelpText('after', foldedHelp(backupHelp))
    .description('take a backup (the word take may be left out)')
    .action(async (place: string, options: TakeOptions) => finish(await take(place, options)));
  command
    .command('verify')
    .argument('<place>', 'the directory of backups, or s3://BUCKET/PREFIX')
    .argument('[id]', 'the newest unless given')
    .option('--json', 'print one line of JSON')
    .description('read every byte; exit code 1, with node and segment, when something is wrong')
    .action(async (place: string, id: string | undefined, options: ShowOptions) =>
      finish(await verify(place, id, options)),
    );
  command
    .command('list')
    .argument('<place>', 'the directory of backups, or s3://BUCKET/PREFIX')
    .option('--json', 'print one line of JSON for each')
    .description('which backups there are, oldest first')
    .action(async (place: string, options: ShowOptions) => finish(await list(place, options)));
  command
    .command('expire')
    .argument('<place>', 'the directory of backups, or s3://BUCKET/PREFIX')
    .requiredOption('--keep <count>', 'how many of the newest stay', positive)
    .option('--json', 'print one line of JSON')
    .description('remove older backups, and what only they hold')
    .action(async (place: string, options: ExpireOptions) => finish(await expire(place, options)));
}

const backupHelp = `
Examples:
  lockstep backup /backups --node n1:8098 --node n2:8098 --node n3:8098
  lockstep backup s3://bucket/cluster --node n1:8098 --node n2:8098
  lockstep backup verify /backups
  lockstep backup list /backups
  lockstep backup expire /backups --keep 7
  lockstep restore /backups --node new1:8098

A backup is one moment of the whole cluster: of each transaction it holds all or nothing. Exit code: 0, or 1 if there is
no new backup, or if something is wrong with the verified one. A token needs the admin role. For S3, the variables
and files of the AWS tools name the server and the credentials (AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_PROFILE,
AWS_ACCESS_KEY_ID and so on).`;

function positive(given: string): number {
  const value = Number(given);
  if (/^\d+$/.test(given) && value >= 1 && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('allowed: whole numbers from 1 on.');
}

function leaseMs(given: string): number {
  try {
    const ms = parseDurationMs(given);
    if (ms >= 1 && ms <= leaseMsMax) return ms;
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
  throw new InvalidArgumentError(`allowed: more than nothing, and at most ${leaseMsMax} ms.`);
}

async function take(
  place: string,
  { node, without, lease, bytesPerSecond, json = false, ...asking }: TakeOptions,
): Promise<ExitCode> {
  if (node.length === 0)
    throw new UsageError('name the nodes by --node, every member of the cluster: --node HOST:PORT for each');
  const repository = newRepositoryAt(place);
  const agent = new Connections(2);
  const nodes = node.map((address) => backupNode(new NodeClient(address, asking, process.env), agent));
  const lock = await repository.lock();
  return underLock(lock, async () => {
    try {
      const cut = { ...cutDefaults, leaseMs: lease, without };
      const progress = progressTo(json);
      const pace = bytesPerSecond === undefined ? backupDefaults.pace : { bytesPerSecond, askingShare: 1 };
      const report = await takeBackup(nodes, repository, idNow(), realClock, { cut, pace, progress });
      const { manifest, copiedBytes, sharedBytes } = report;
      const held = Math.ceil(manifest.held_us / 1000);
      const summary = {
        id: manifest.id,
        nodes: manifest.nodes.map((one) => one.node),
        without: manifest.without,
        bytes: copiedBytes + sharedBytes,
        copied_bytes: copiedBytes,
        shared_bytes: sharedBytes,
        held_ms: held,
        transactions: new Set(manifest.nodes.flatMap((one) => one.transactions.map(({ id }) => id))).size,
      };
      console.log(json ? JSON.stringify(summary) : textOf(summary));
      return exitCodes.done;
    } catch (error) {
      throw withHint(error);
    } finally {
      agent.close();
    }
  });
}

/**
 * Runs `work`, and releases the lock. If the lock cannot be released, what `work` has done is done all the same, and if
 * it has failed, its own error counts: the user is only told.
 */
export async function underLock<T>(lock: StorageLock, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await lock.release().catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      console.error(
        `lockstep: the lock of the backups could not be released: ${why}; the next backup may have to wait until the lock counts as abandoned`,
      );
    });
  }
}

function textOf(summary: {
  readonly id: string;
  readonly nodes: readonly string[];
  readonly without: readonly string[];
  readonly bytes: number;
  readonly copied_bytes: number;
  readonly held_ms: number;
  readonly transactions: number;
}): string {
  const { id, nodes, without, bytes, copied_bytes: copied, held_ms: held, transactions } = summary;
  const lines = [
    `backup ${id} of ${nodes.join(', ')}: ${bytes} bytes, ${copied} of them copied; writes waited for ${held} ms`,
    `${transactions} transactions were on their way; each is in it whole or not at all`,
  ];
  if (without.length > 0)
    lines.push(
      `without ${without.join(', ')}: what only they held is missing, and a transaction that they coordinated may be in doubt`,
    );
  return lines.join('\n');
}

/** Says what to do about a node that does not answer. */
export function withHint(error: unknown): unknown {
  if (!(error instanceof Error) || !error.message.includes('cannot be asked')) return error;
  const hint = 'if the node is down, leave its --node out, and name it by --without NAME';
  return new Error(`${error.message}; ${hint}`, { cause: error });
}

/** `20261127T020000123Z`: ids sort by time. */
function idNow(): string {
  return new Date().toISOString().replaceAll(/[-:.]/g, '');
}

/** The node as a backup asks it, over kept connections. */
export function backupNode(client: NodeClient, agent: KeptConnections): HttpBackupNode {
  return new HttpBackupNode(client.origin, (method, path, body) =>
    client.exchange(method, path, {
      agent,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body }),
      answerBytesMax: 2 * chunkBytesMax,
    }),
  );
}

/** Prints how far the copy is on a terminal, once a second at most. */
function progressTo(json: boolean): (copied: number, shared: number, all: number) => void {
  let shownMs = 0;
  return (copied, shared, all) => {
    if (json || !process.stderr.isTTY || performance.now() - shownMs < 1000) return;
    shownMs = performance.now();
    console.error(`${copied + shared} of ${all} bytes, ${shared} of them shared with earlier backups`);
  };
}

async function verify(
  place: string,
  id: string | undefined,
  { json = false }: ShowOptions,
): Promise<ExitCode> {
  const repository = repositoryAt(place);
  const manifest = await repository.manifest(id);
  const check = await verifyBackup(repository, manifest);
  const sound = check.findings.length === 0;
  const painter = painterFor(process.stdout);
  if (json) console.log(JSON.stringify({ id: manifest.id, sound, ...check }));
  else if (sound)
    console.log(
      `${painter.good('sound')}: ${manifest.id}, ${check.segments} segments, ${check.bytes} bytes, ${check.records} records, every byte read`,
    );
  else
    for (const { node, segment, detail } of check.findings)
      console.log(`${painter.bad(node)} segment ${segment}: ${detail}`);
  return sound ? exitCodes.done : exitCodes.failed;
}

async function list(place: string, { json = false }: ShowOptions): Promise<ExitCode> {
  const repository = repositoryAt(place);
  const manifests: BackupManifest[] = [];
  for (const id of await repository.ids()) manifests.push(await repository.manifest(id));
  if (json) {
    for (const one of manifests) console.log(JSON.stringify(lineOf(one)));
    return exitCodes.done;
  }
  const rows = manifests.map((one) => {
    const { id, cluster_id: cluster, nodes, without, bytes } = lineOf(one);
    return [id, cluster, nodes.join(' '), without.join(' ') || '-', String(bytes)];
  });
  console.log(
    rows.length === 0
      ? 'there is no backup here'
      : table([['backup', 'cluster', 'nodes', 'without', 'bytes'], ...rows]),
  );
  return exitCodes.done;
}

function lineOf(manifest: BackupManifest): {
  readonly id: string;
  readonly cluster_id: string;
  readonly taken_ms: number;
  readonly nodes: readonly string[];
  readonly without: readonly string[];
  readonly bytes: number;
} {
  const { id, cluster_id, taken_ms, without, nodes } = manifest;
  return {
    id,
    cluster_id,
    taken_ms,
    nodes: nodes.map(({ node }) => node),
    without,
    bytes: bytesOf(manifest),
  };
}

async function expire(place: string, { keep, json = false }: ExpireOptions): Promise<ExitCode> {
  const repository = repositoryAt(place);
  const lock = await repository.lock();
  return underLock(lock, async () => {
    const ids = await repository.ids();
    const old = ids.slice(0, Math.max(0, ids.length - keep));
    const segments = await repository.remove(old);
    if (json) console.log(JSON.stringify({ removed: old, segments }));
    else console.log(`${old.length} backups removed (${old.join(', ') || 'none'}), and ${segments} segments`);
    return exitCodes.done;
  });
}
