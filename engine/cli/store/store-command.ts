/**
 * `lockstep store inspect|verify|compact|rebuild|forget-properties DIR`: works on the store of a node that does not
 * run.
 */
import { statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';

import { Presets, SingleBar } from 'cli-progress';
import type { Command } from 'commander';

import { LockstepError } from '../../base/errors.ts';
import { forgetProperties, nodeOfDirectory } from '../../node/node.ts';
import { realClock } from '../../real/clock.ts';
import { createRealDisk } from '../../real/disk.ts';
import { readManifest } from '../../storage/recovery/identity.ts';
import { storeDefaults } from '../../storage/options.ts';
import { rebuildManifest } from '../../storage/recovery/rebuild-manifest.ts';
import { Store } from '../../storage/store.ts';
import type { StoreReport } from '../../storage/recovery/verify.ts';
import { verifyStore } from '../../storage/recovery/verify.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes, named, UsageError } from '../exit-codes.ts';
import type { Place } from './store-lock.ts';
import { storeIoOf } from './store-io.ts';
import { whileLocked, whileNobodyWrites } from './store-lock.ts';
import { painterFor, table } from '../terminal.ts';

const whereStoresAre = '; the store of a node is the directory store below its data_dir';

interface Flags {
  readonly json?: boolean;
}

interface RebuildFlags extends Flags {
  readonly node: string;
}

/** Adds the command `store` with its subcommands. `finish` gets the exit code. */
export function addStoreCommand(program: Command, finish: (code: ExitCode) => void): void {
  const command = program.command('store').description('look after the files of a node that is not running');
  command
    .command('inspect')
    .argument('<dir>', "the store's directory")
    .option('--json', 'print one line of JSON')
    .description('whose store it is, and what its segments hold')
    .action(async (dir: string, flags: Flags) =>
      finish(await inPlace(dir, (place) => inspect(place, flags))),
    );
  command
    .command('verify')
    .argument('<dir>', "the store's directory")
    .option('--json', 'print one line of JSON')
    .description('read every byte; exit code 1, with file and offset, when something is wrong')
    .action(async (dir: string, flags: Flags) => finish(await inPlace(dir, (place) => verify(place, flags))));
  command
    .command('compact')
    .argument('<dir>', "the store's directory")
    .option('--json', 'print one line of JSON')
    .description('merge all sound segments; damaged ones are left as they are')
    .action(async (dir: string, flags: Flags) =>
      finish(await inPlace(dir, (place) => compact(place, flags))),
    );
  command
    .command('rebuild')
    .argument('<dir>', "the store's directory")
    .requiredOption('--node <name>', 'the name of the node that the store belongs to')
    .option('--json', 'print one line of JSON')
    .description('make a lost manifest again from the segments; removed keys may be back')
    .action(async (dir: string, flags: RebuildFlags) =>
      finish(await inPlace(dir, (place) => rebuild(place, flags))),
    );
  command
    .command('forget-properties')
    .argument('<dir>', "the store's directory")
    .option('--json', 'print one line of JSON')
    .description('give up what was set of buckets and cannot be read: they have the properties of their type')
    .action(async (dir: string, flags: Flags) => finish(await inPlace(dir, (place) => forget(place, flags))));
}

async function inspect(place: Place, { json = false }: Flags): Promise<ExitCode> {
  const report = await look(place, json);
  if (json) console.log(JSON.stringify(report));
  else console.log(describeStore(report));
  return exitCodes.done;
}

async function verify(place: Place, { json = false }: Flags): Promise<ExitCode> {
  const report = await look(place, json);
  const { findings } = report;
  const sound = findings.length === 0;
  if (json) console.log(JSON.stringify({ sound, findings, segments: report.segments.length }));
  else console.log(describeFindings(report));
  return sound ? exitCodes.done : exitCodes.failed;
}

async function compact(place: Place, { json = false }: Flags): Promise<ExitCode> {
  const store = await openStore(place);
  try {
    const before = store.figures;
    const merged = await store.compact();
    await store.settle();
    const after = store.figures;
    const result = { before: before.diskBytes, after: after.diskBytes, keys: after.keyCount, ...merged };
    console.log(
      json
        ? JSON.stringify(result)
        : `${result.before} bytes before, ${result.after} after, ${result.keys} keys`,
    );
  } finally {
    await store.close();
  }
  return exitCodes.done;
}

async function forget(place: Place, { json = false }: Flags): Promise<ExitCode> {
  const store = await openStore(place);
  try {
    const given = await forgetProperties(store);
    const lines = given.map((name) => `${name}: given up`);
    console.log(json ? JSON.stringify({ given_up: given }) : lines.join('\n') || 'nothing is lost');
  } finally {
    await store.close();
  }
  return exitCodes.done;
}

async function openStore(place: Place): Promise<Store> {
  const reading = await readManifest(place.disk, place.directory);
  if (reading === undefined) throw new LockstepError('NotFound', 'the directory holds no store');
  const { nodeName } = reading.manifest;
  const merge = { ...storeDefaults.merge, enabled: false };
  return Store.open(storeIoOf(place.disk, 'lockstep store'), place.directory, {
    ...storeDefaults,
    nodeName,
    merge,
  });
}

/** Rebuilds the manifest for `node`. Refuses another name than the identity file has: no node could open the store. */
async function rebuild(place: Place, { node, json = false }: RebuildFlags): Promise<ExitCode> {
  const { disk, directory } = place;
  const owner = await nodeOfDirectory(disk);
  if (owner !== undefined && owner !== node) {
    const detail = `--node ${node}: the file identity beside ${directory} says that it is ${owner}'s`;
    throw new LockstepError('StoreForeign', detail);
  }
  const report = await whileLocked(place, () => rebuildManifest(disk, directory, node, realClock.wallMs()));
  const lines = [
    `store ${report.storeId} of node ${node}: ${report.segments} segments, ${report.records} records`,
    ...report.setAside.map((name) => `${name} holds nothing readable: renamed to ${name}.unread`),
    'keys whose removal a merge had forgotten may be back; `lockstep store verify` names what is damaged',
  ];
  console.log(json ? JSON.stringify(report) : lines.join('\n'));
  return exitCodes.done;
}

/** Reads the whole store, with a progress bar on a terminal. */
function look(place: Place, json: boolean): Promise<StoreReport> {
  return whileNobodyWrites(
    place,
    (notice) => console.error(`lockstep: ${notice}`),
    () => read(place, json),
  );
}

async function read({ disk, directory }: Place, json: boolean): Promise<StoreReport> {
  const bar = new SingleBar(
    { format: '{bar} {percentage}% | {value} of {total} bytes' },
    Presets.shades_classic,
  );
  const shown = process.stderr.isTTY && !json;
  if (shown) bar.start(0, 0);
  try {
    return await verifyStore(disk, directory, (done, all) => {
      if (!shown) return;
      bar.setTotal(all);
      bar.update(done);
    });
  } finally {
    if (shown) bar.stop();
  }
}

/** Adds the directory, as the user gave it, to every error: the modules below know only its last component. */
async function inPlace(dir: string, work: (place: Place) => Promise<ExitCode>): Promise<ExitCode> {
  const place = placeOf(dir);
  try {
    return await work(place);
  } catch (error) {
    const hint = error instanceof LockstepError && error.code === 'NotFound' ? whereStoresAre : '';
    throw named(dir, error, hint);
  }
}

function placeOf(dir: string): Place {
  const path = resolve(dir);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new UsageError(`${dir} is not a directory`);
  }
  const root = dirname(path);
  return { disk: createRealDisk(root), root, directory: basename(path) };
}

function describeStore(report: StoreReport): string {
  const painter = painterFor(process.stdout);
  const rows = report.segments.map((segment) => [
    `${String(segment.number).padStart(8, '0')}.log`,
    segment.kind,
    segment.sealed ? 'sealed' : 'open',
    String(segment.bytes),
    String(segment.records),
    String(segment.removals),
    segment.hint,
  ]);
  return [
    `${painter.strong('store')} ${report.storeId} of node ${painter.strong(report.nodeName)}`,
    `made ${new Date(report.createdMs).toISOString()}`,
    table([['segment', 'kind', 'state', 'bytes', 'records', 'removals', 'hint'], ...rows]),
    ...(report.findings.length === 0 ? [] : [describeFindings(report)]),
  ].join('\n');
}

function describeFindings({ findings, segments }: StoreReport): string {
  const painter = painterFor(process.stdout);
  if (findings.length === 0) return `${painter.good('sound')}: ${segments.length} segments, every byte read`;
  const lines = findings.map(
    ({ file, offset, bytes, detail }) => `${painter.bad(file)} offset ${offset}, ${bytes} bytes: ${detail}`,
  );
  return [...lines, `${findings.length} ${findings.length === 1 ? 'place is' : 'places are'} wrong`].join(
    '\n',
  );
}
