/**
 * `lockstep export` and `lockstep import`: all objects of a cluster, a type or a bucket as JSON lines, with all siblings
 * and their metadata, counted and hashed (`export-format.ts`).
 *
 * An export reads object by object while clients write: it is no cut of one moment (`lockstep backup` is). An import
 * writes each object as a client would, so a node of any version takes it, and a bucket of another type too.
 */
import { createReadStream, openSync, closeSync, fsyncSync, renameSync, writeSync } from 'node:fs';
import type { Command } from 'commander';
import { foldedHelp } from '../help-text.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes, UsageError } from '../exit-codes.ts';
import type { NamedNodeOptions } from '../operate/named-node.ts';
import { clientOf, withNamedNode } from '../operate/named-node.ts';
import { KeptConnections } from '../operate/node-client.ts';
import type { ExportedObject, ExportTotals } from './export-format.ts';
import { differenceOf, endLine, ExportTally, hashOf, headLine, objectLine, parseLine } from './export-format.ts';
import { ObjectClient } from './object-client.ts';
import type { ObjectName } from './object-name.ts';

/** Requests at once. */
const parallelCount = 8;
const conflictsShownMax = 10;

interface ExportOptions extends NamedNodeOptions {
  readonly type?: string;
  readonly bucket?: string;
  readonly out?: string;
}

interface ImportOptions extends NamedNodeOptions {
  readonly replace?: boolean;
  readonly json?: boolean;
}

/** Adds the commands. `finish` gets the exit code. */
export function addExportCommands(program: Command, finish: (code: ExitCode) => void): void {
  withNamedNode(program.command('export'))
    .option('-t, --type <type>', 'only this bucket type')
    .option('-b, --bucket <bucket>', 'only this bucket (of --type, or of the default type)')
    .option('-o, --out <file>', 'a file, complete or absent; without it, stdout')
    .addHelpText('after', foldedHelp(exportHelp))
    .description('write all objects as JSON lines, with all siblings and metadata')
    .action(async (options: ExportOptions) => finish(await exportAll(options)));
  withNamedNode(program.command('import'))
    .argument('<file>', 'what lockstep export wrote')
    .option('--replace', 'replace what the keys hold; without it, a key that holds something else is left alone')
    .option('--json', 'print one line of JSON')
    .addHelpText('after', foldedHelp(importHelp))
    .description('write the objects of an export, then read them back and compare')
    .action(async (file: string, options: ImportOptions) => finish(await importAll(file, options)));
}

const exportHelp = `
Examples:
  lockstep export --node 127.0.0.1:8098 --out all.jsonl
  lockstep export --node 127.0.0.1:8098 --bucket accounts | gzip > accounts.jsonl.gz

Deleted objects and the properties of buckets are not exported. Exit code: 0, or 1 if an object cannot be read.`;

const importHelp = `
Example:
  lockstep import all.jsonl --node 127.0.0.1:8098

The file is checked as a whole before anything is written. Set the properties of buckets first: siblings need a bucket
with allow_mult. The same import again continues where the last one stopped. Exit code: 0 if every object was read back
as it is in the file; 1 if a key holds something else, or an object cannot be written; 2 if the file is damaged.`;

async function exportAll({ out, ...options }: ExportOptions): Promise<ExitCode> {
  const client = clientOf(options);
  const agent = new KeptConnections(parallelCount);
  const sink = new LineSink(out);
  const tally = new ExportTally();
  try {
    const objects = new ObjectClient(client, agent);
    sink.write(headLine(client.origin, new Date()));
    await inParallel(namesOf(objects, options), parallelCount, async (name) => {
      const found = await objects.get(name);
      if (found === undefined && name.key.includes('\uFFFD'))
        throw new Error(`${JSON.stringify(name)}: its name is no UTF-8, which JSON cannot hold; lockstep backup keeps it`);
      // Deleted since it was listed.
      if (found === undefined || found.siblings.length === 0) return;
      const object = { ...name, siblings: found.siblings };
      tally.add(object);
      sink.write(objectLine(object));
    });
    sink.write(endLine(tally.totals));
    sink.finish();
  } finally {
    agent.close();
    sink.close();
  }
  const { objects: count, siblings, hash } = tally.totals;
  console.error(`${count} objects, ${siblings} values, hash ${hash}`);
  return exitCodes.done;
}

async function* namesOf(
  objects: ObjectClient,
  { type, bucket }: ExportOptions,
): AsyncGenerator<ObjectName, void, undefined> {
  const types = type !== undefined ? [type] : bucket !== undefined ? ['default'] : await objects.types();
  for (const one of types) {
    const buckets = bucket === undefined ? objects.buckets(one) : [[bucket]];
    for await (const page of buckets) {
      for (const name of page) {
        for await (const keys of objects.keys(one, name)) {
          for (const key of keys) yield { type: one, bucket: name, key };
        }
      }
    }
  }
}

/** Writes lines to a file, which has its name only once it is complete and synced, or to stdout. */
class LineSink {
  readonly #path: string | undefined;
  #file: number | undefined;

  constructor(path: string | undefined) {
    this.#path = path;
    if (path !== undefined) this.#file = openSync(`${path}.part`, 'w');
  }

  write(line: string): void {
    writeSync(this.#file ?? 1, `${line}\n`);
  }

  finish(): void {
    if (this.#file === undefined || this.#path === undefined) return;
    fsyncSync(this.#file);
    this.close();
    renameSync(`${this.#path}.part`, this.#path);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

async function importAll(file: string, { replace = false, json = false, ...options }: ImportOptions): Promise<ExitCode> {
  const expected = await checkFile(file);
  const agent = new KeptConnections(parallelCount);
  const tally = new ExportTally();
  const conflicts: string[] = [];
  try {
    const objects = new ObjectClient(clientOf(options), agent);
    const keepsSiblings = new Map<string, Promise<boolean>>();
    await inParallel(objectsIn(file), parallelCount, async (object) => {
      if (object.siblings.length > 1 && !(await mayHaveSiblings(objects, object, keepsSiblings)))
        throw new Error(`${nameOf(object)} has siblings, and its bucket has not set allow_mult; set it, then import again`);
      await writeObject(objects, object, replace);
      const found = await objects.get(object);
      const written = { ...object, siblings: found?.siblings ?? [] };
      tally.add(written);
      if (hashOf(written) !== hashOf(object)) conflicts.push(nameOf(object));
    });
  } finally {
    agent.close();
  }
  const difference = differenceOf(expected, tally.totals);
  const whole = difference === undefined && conflicts.length === 0;
  if (json) console.log(JSON.stringify({ ...tally.totals, whole, conflicts }));
  else if (whole) console.log(`${expected.objects} objects, ${expected.siblings} values: every one read back, hash ${expected.hash}`);
  else console.error(conflictText(conflicts, difference ?? ''));
  return whole ? exitCodes.done : exitCodes.failed;
}

function conflictText(conflicts: readonly string[], difference: string): string {
  const shown = conflicts.slice(0, conflictsShownMax).map((name) => `lockstep: ${name} holds something else`);
  const more = conflicts.length - shown.length;
  const last = `lockstep: ${difference}; --replace overwrites, or another client writes these keys`;
  return [...shown, ...(more > 0 ? [`lockstep: and ${more} more`] : []), last].join('\n');
}

function nameOf({ type, bucket, key }: ObjectName): string {
  return `${type === 'default' ? '' : `${type} `}${bucket}/${key}`;
}

/** Writes the siblings that the key does not hold yet. */
async function writeObject(objects: ObjectClient, object: ExportedObject, replace: boolean): Promise<void> {
  const [first, ...others] = object.siblings;
  if (first === undefined) return;
  if (!(await objects.put(object, first, { kind: 'absent' }))) {
    const found = await objects.get(object);
    if (found !== undefined && hashOf({ ...object, siblings: found.siblings }) === hashOf(object)) return;
    if (!replace) return;
    const context = await objects.contextOf(object);
    await objects.put(object, first, { kind: 'replace', ...(context === undefined ? {} : { context }) });
  }
  // Without a context, a value stands beside the ones before it.
  for (const sibling of others) await objects.put(object, sibling, { kind: 'beside' });
}

function mayHaveSiblings(
  objects: ObjectClient,
  { type, bucket }: ObjectName,
  known: Map<string, Promise<boolean>>,
): Promise<boolean> {
  const name = JSON.stringify([type, bucket]);
  let answer = known.get(name);
  if (answer === undefined) {
    answer = objects.properties(type, bucket).then((props) => props['allow_mult'] === true);
    known.set(name, answer);
  }
  return answer;
}

/** Reads the file once. Throws `UsageError` if it is not whole. */
async function checkFile(file: string): Promise<ExportTotals> {
  const tally = new ExportTally();
  let expected: ExportTotals | undefined;
  let number = 0;
  for await (const text of linesOf(file)) {
    number += 1;
    const line = parseLine(text, number);
    if ((number === 1) !== (line.kind === 'head') || expected !== undefined)
      throw new UsageError(`${file}, line ${number}: an export has one head, then objects, then one end`);
    if (line.kind === 'object') tally.add(line.object);
    if (line.kind === 'end') expected = line.totals;
  }
  if (expected === undefined) throw new UsageError(`${file} has no end line: it is incomplete; export again`);
  const difference = differenceOf(expected, tally.totals);
  if (difference !== undefined) throw new UsageError(`${file} is damaged; ${difference}`);
  return expected;
}

async function* objectsIn(file: string): AsyncGenerator<ExportedObject, void, undefined> {
  let number = 0;
  for await (const text of linesOf(file)) {
    number += 1;
    const line = parseLine(text, number);
    if (line.kind === 'object') yield line.object;
  }
}

/** The lines of the file. Names may hold other separators of lines, at which `node:readline` of newer versions divides. */
async function* linesOf(file: string): AsyncGenerator<string, void, undefined> {
  let held: string[] = [];
  for await (const chunk of createReadStream(file, { encoding: 'utf8' }) as AsyncIterable<string>) {
    const [first = '', ...others] = chunk.split('\n');
    held.push(first);
    for (const next of others) {
      yield held.join('');
      held = [next];
    }
  }
  const last = held.join('');
  if (last !== '') yield last;
}

/**
 * Calls `task` for every item, at most `count` at a time, and resolves once all have ended. After the first rejection no
 * further item is taken, and the call rejects with it once the others under way have ended.
 */
export async function inParallel<T>(
  items: AsyncIterable<T>,
  count: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for await (const item of items) {
    const one = task(item)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(one));
    running.add(one);
    if (running.size >= count) await Promise.race(running);
    if (failures.length > 0) break;
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}
