/** `lockstep restore DIR`: writes a backup's state to a running cluster of any shape (`engine/backup`). */
import { mkdtempSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import type { Command } from 'commander';

import { foldedHelp, gather } from '../help-text.ts';
import { byteStringOf } from '../../base/ids.ts';
import { restoreDefaults, sendState } from '../../backup/restore.ts';
import type { BucketSetting } from '../../backup/restored-state.ts';
import { RestoredState } from '../../backup/restored-state.ts';
import type { Selection } from '../../backup/selection.ts';
import { selectionOf } from '../../backup/selection.ts';
import { createRealDisk } from '../../real/disk.ts';
import { repositoryAt, usualStageOf } from './repository-place.ts';
import { bytesInPath, typePath } from '../data/object-name.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { NamedNodeOptions } from '../operate/named-node.ts';
import { clientOf, withNamedNode } from '../operate/named-node.ts';
import { answerBytesMax, KeptConnections } from '../operate/node-client.ts';
import type { NodeClient } from '../operate/node-client.ts';
import { storeIoOf } from '../store/store-io.ts';

interface RestoreOptions extends NamedNodeOptions {
  readonly id?: string;
  readonly only: readonly string[];
  readonly type?: string;
  readonly stage?: string;
  readonly overwrite?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const timeoutMs = 60_000;
const attemptsMax = 8;

/** Adds the command `restore`. `finish` gets the exit code. */
export function addRestoreCommand(program: Command, finish: (code: ExitCode) => void): void {
  withNamedNode(program.command('restore'))
    .argument('<place>', 'the directory of backups, or s3://BUCKET/PREFIX')
    .option('--id <id>', 'which backup; the newest unless given')
    .option('--only <bucket>', 'only this bucket; may be repeated', gather, [])
    .option('-t, --type <type>', 'the bucket type of --only (default unless given)')
    .option(
      '--stage <dir>',
      'where a copy of the stores is made meanwhile (beside the directory unless given)',
    )
    .option('--overwrite', 'replace newer values and deletions of the same objects in the cluster')
    .option('--dry-run', 'count what the backup holds, and send nothing')
    .option('--json', 'print one line of JSON')
    .addHelpText('after', foldedHelp(restoreHelp))
    .description('write the objects of a backup to a running cluster, of the same or another shape')
    .action(async (place: string, options: RestoreOptions) => finish(await restore(place, options)));
}

const restoreHelp = `
Examples:
  lockstep restore /backups --node new1:8098
  lockstep restore /backups --id 20261127T020000000Z --node new1:8098
  lockstep restore /backups --only accounts --overwrite --node 127.0.0.1:8098
  lockstep restore /backups --dry-run --node new1:8098

Every object is merged at its owners by causality: an object that is newer in the cluster stays, deleted ones too, unless
--overwrite is given. The same restore may be run again. Exit code: 0 once every object is durable at all of its owners; 1 otherwise, or if an object of the backup
could not be read on any node, or if the outcome of a transaction is unknown. With --only, a transaction that wrote to
other buckets too is restored in part: name all of its buckets.`;

async function restore(
  place: string,
  { id, only, type, stage, overwrite = false, dryRun = false, json = false, ...named }: RestoreOptions,
): Promise<ExitCode> {
  const client = clientOf(named);
  const repository = repositoryAt(place);
  const manifest = await repository.manifest(id);
  const directory = mkdtempSync(join(stage ?? usualStageOf(place), 'lockstep-restore-'));
  const agent = new KeptConnections(2);
  try {
    const io = storeIoOf(createRealDisk(dirname(directory)), 'lockstep restore');
    const state = await RestoredState.open(io, repository, manifest, basename(directory));
    try {
      const selection = selectionOf(only, type, state.buckets());
      const { isWanted } = selection;
      if (!dryRun) await restoreProperties(client, agent, state, selection);
      const send = dryRun
        ? () => Promise.resolve()
        : (batch: Buffer) => sendBatch(client, agent, batch, overwrite);
      const { objects, bytes } = await sendState(state, send, { ...restoreDefaults, isWanted });
      const { committed, aborted, inDoubt } = state.decided;
      const report = {
        id: manifest.id,
        objects,
        bytes,
        sent: !dryRun,
        committed: committed.length,
        aborted: aborted.length,
        in_doubt: inDoubt,
        unreadable_copies: state.unreadable.copies,
        unreadable_keys: state.unreadable.keys,
      };
      console.log(json ? JSON.stringify(report) : reportText(report));
      return report.unreadable_keys === 0 && inDoubt.length === 0 ? exitCodes.done : exitCodes.failed;
    } finally {
      await state.close();
    }
  } finally {
    agent.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Report {
  readonly id: string;
  readonly objects: number;
  readonly bytes: number;
  readonly sent: boolean;
  readonly committed: number;
  readonly aborted: number;
  readonly in_doubt: readonly string[];
  readonly unreadable_copies: number;
  readonly unreadable_keys: number;
}

function reportText(report: Report): string {
  const lines = [
    report.sent
      ? `${report.id}: ${report.objects} objects, ${report.bytes} bytes, each durable at all of its owners`
      : `${report.id} holds ${report.objects} objects, ${report.bytes} bytes; nothing was sent`,
    `transactions on their way at the cut: ${report.committed} committed, ${report.aborted} aborted`,
  ];
  if (report.in_doubt.length > 0)
    lines.push(
      `outcome unknown, so not written (their coordinator is not in the backup): ${report.in_doubt.join(', ')}`,
    );
  if (report.unreadable_copies > 0)
    lines.push(`${report.unreadable_copies} copies were unreadable; another node had the object`);
  if (report.unreadable_keys > 0)
    lines.push(
      `${report.unreadable_keys} objects were unreadable on every node, or may lack their last write: what could be read was restored`,
    );
  return lines.join('\n');
}

/** Where the properties of a bucket are set. */
export function propertiesPath({ type, name }: Pick<BucketSetting, 'type' | 'name'>): string {
  return `${typePath(type)}/buckets/${bytesInPath(name)}/props`;
}

/**
 * Where a setting is written. The properties of a type go to the type; to each of the buckets that `--only` names, if it
 * names any: the other buckets of the type stay as they are in the cluster.
 */
function pathsOf(setting: BucketSetting, { only }: Selection): readonly string[] {
  const { type, bucket } = setting;
  if (bucket !== '') return [propertiesPath(setting)];
  // The default type has no path among objects, but it has properties.
  if (only.length === 0) return [`/types/${encodeURIComponent(type)}/props`];
  return only.map((name) => propertiesPath({ type, name: byteStringOf(name) }));
}

/** Sets types and properties of buckets as they were set at the cut: they decide where objects go, and what is kept. */
async function restoreProperties(
  client: NodeClient,
  agent: KeptConnections,
  state: RestoredState,
  selection: Selection,
): Promise<void> {
  const known = await ask(client, agent, 'GET', '/types', undefined);
  const types = (JSON.parse(known) as { readonly types: readonly { readonly name: string }[] }).types;
  for (const setting of state.properties) {
    const { type, bucket, props } = setting;
    const isWanted =
      bucket === '' ? selection.isWantedType(type) : selection.isWantedBucket({ type, bucket });
    if (!isWanted) continue;
    if (bucket === '' && !types.some(({ name }) => name === type))
      await ask(client, agent, 'POST', '/types', { name: type, props });
    else for (const path of pathsOf(setting, selection)) await ask(client, agent, 'PUT', path, { props });
  }
}

/** The body of the answer. Rejects with `NodeRefusal` for a status of 400 or more. */
async function ask(
  client: NodeClient,
  agent: KeptConnections,
  method: 'GET' | 'PUT' | 'POST',
  path: string,
  said: object | undefined,
): Promise<string> {
  const sent =
    said === undefined
      ? {}
      : { headers: { 'Content-Type': 'application/json' }, body: Buffer.from(JSON.stringify(said)) };
  const { status, body } = await client.exchange(method, path, { ...sent, agent, timeoutMs, answerBytesMax });
  if (status < 400) return body.toString('utf8');
  throw client.refusal(status, `${path}: ${body.toString('utf8')}`);
}

/** Sends a batch, again while the cluster is busy: merging it twice changes nothing. */
async function sendBatch(
  client: NodeClient,
  agent: KeptConnections,
  batch: Buffer,
  overwrite: boolean,
): Promise<void> {
  const headers = { 'Content-Type': 'application/octet-stream' };
  for (let attempt = 1; ; attempt++) {
    const asked = { headers, body: batch, agent, timeoutMs, answerBytesMax };
    const { status, body } = await client.exchange(
      'POST',
      `/backup/restore${overwrite ? '?overwrite=true' : ''}`,
      asked,
    );
    if (status === 200) return;
    if (status < 500 || attempt >= attemptsMax) throw client.refusal(status, body.toString('utf8'));
    await new Promise((done) => setTimeout(done, 250 * attempt));
  }
}
