/** `lockstep get|put|del|ls|tx`: reads and writes objects of a running cluster through one node. */
import { readFileSync } from 'node:fs';

import type { Command } from 'commander';

import { errorCodes, errorTable } from '../../base/errors.ts';
import { foldedHelp, gather } from '../help-text.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes, UsageError } from '../exit-codes.ts';
import type { NamedNodeOptions } from '../operate/named-node.ts';
import { clientOf, withNamedNode } from '../operate/named-node.ts';
import type { WholeAnswer } from '../operate/node-client.ts';
import { isUnsent, KeptConnections } from '../operate/node-client.ts';
import type { SiblingValue } from './object-client.ts';
import { ObjectClient } from './object-client.ts';
import type { PlaceOptions } from './object-name.ts';
import { defaultTypeName, objectNameOf, withPlace } from './object-name.ts';

interface ObjectOptions extends NamedNodeOptions, PlaceOptions {
  readonly json?: boolean;
}

interface PutOptions extends ObjectOptions {
  readonly file?: string;
  readonly contentType?: string;
  readonly new?: boolean;
}

interface TransactionOptions extends NamedNodeOptions, Pick<PlaceOptions, 'type'> {
  readonly put: readonly string[];
  readonly delete: readonly string[];
  readonly file?: string;
  readonly id?: string;
  readonly json?: boolean;
}

type Finish = (code: ExitCode) => void;

/** Adds the commands. `finish` gets the exit code. */
export function addDataCommands(program: Command, finish: Finish): void {
  withNamedNode(withPlace(program.command('get')))
    .argument('<object>', 'BUCKET/KEY')
    .option('--json', 'print all siblings, their metadata and the context; values in base64')
    .addHelpText('after', foldedHelp(getHelp))
    .description('print the value of one object')
    .action(async (object: string, options: ObjectOptions) => finish(await get(object, options)));
  withNamedNode(withPlace(program.command('put')))
    .argument('<object>', 'BUCKET/KEY')
    .argument('[value]', 'the value; without it, --file')
    .option('-f, --file <file>', 'a file with the value; - reads stdin')
    .option('--content-type <type>', 'text/plain for a VALUE, application/octet-stream for a file, unless given')
    .option('--new', 'only if the key holds nothing')
    .addHelpText('after', foldedHelp(putHelp))
    .description('write one object; it replaces what the key holds')
    .action(async (object: string, value: string | undefined, options: PutOptions) =>
      finish(await put(object, value, options)),
    );
  withNamedNode(withPlace(program.command('del')))
    .argument('<object>', 'BUCKET/KEY')
    .addHelpText('after', foldedHelp(delHelp))
    .description('delete one object')
    .action(async (object: string, options: ObjectOptions) => finish(await del(object, options)));
  withNamedNode(program.command('ls'))
    .argument('[bucket]', 'its keys; without it, the buckets')
    .option('-t, --type <type>', 'the bucket type (default unless given)')
    .option('--json', 'print one JSON string a line')
    .addHelpText('after', foldedHelp(lsHelp))
    .description('list the keys of a bucket, or the buckets; in no order')
    .action(async (bucket: string | undefined, options: ObjectOptions) => finish(await ls(bucket, options)));
  withNamedNode(program.command('tx'))
    .option('--put <BUCKET/KEY=VALUE>', 'a put; may be repeated', gather, [])
    .option('--delete <BUCKET/KEY>', 'a deletion; may be repeated', gather, [])
    .option('-t, --type <type>', 'the bucket type of all of them (default unless given)')
    .option('-f, --file <file>', 'the whole transaction as JSON, as POST /transactions takes it; - reads stdin')
    .option('--id <id>', 'an idempotency key: the same command again has no second effect')
    .option('--json', 'print what the node answers')
    .addHelpText('after', foldedHelp(txHelp))
    .description('run one transaction: all of its writes happen, or none')
    .action(async (options: TransactionOptions) => finish(await transact(options)));
}

const getHelp = `
Examples:
  lockstep get accounts/ann --node 127.0.0.1:8098
  lockstep get accounts/ann --json --node 127.0.0.1:8098

Exit code: 0, or 1 if there is no such object, if it has siblings (--json prints them), or if the node refuses.`;

const putHelp = `
Examples:
  lockstep put accounts/ann 90 --node 127.0.0.1:8098
  lockstep put pictures/cat --file cat.png --content-type image/png --node 127.0.0.1:8098
  date | lockstep put log/last --file - --node 127.0.0.1:8098

Exit code: 0, or 1 if the node refuses, or if --new is given and the key holds something.`;

const delHelp = `
Example:
  lockstep del accounts/ann --node 127.0.0.1:8098

Exit code: 0, or 1 if there is no such object, or if the node refuses.`;

const lsHelp = `
Examples:
  lockstep ls --node 127.0.0.1:8098
  lockstep ls accounts --node 127.0.0.1:8098

A listing reads the whole cluster: it is for people and jobs, not for each request of an application.`;

const txHelp = `
Examples:
  lockstep tx --put accounts/ann=90 --put accounts/bob=110 --node 127.0.0.1:8098
  lockstep tx --delete carts/7 --put orders/7=paid --id order-7 --node 127.0.0.1:8098
  lockstep tx --file transfer.json --node 127.0.0.1:8098

Exit code: 0 committed; 1 aborted (nothing was written) or refused; 3 the outcome is not known yet: the same command
with the same --id asks again, and has no second effect.`;

async function withObjects<T>(options: NamedNodeOptions, work: (objects: ObjectClient) => Promise<T>): Promise<T> {
  const agent = new KeptConnections(1);
  try {
    return await work(new ObjectClient(clientOf(options), agent));
  } finally {
    agent.close();
  }
}

function get(object: string, { json = false, ...options }: ObjectOptions): Promise<ExitCode> {
  const name = objectNameOf(object, options);
  return withObjects(options, async (objects) => {
    const found = await objects.get(name);
    const [only, ...others] = found?.siblings ?? [];
    if (found === undefined || only === undefined) {
      if (json) console.log('null');
      console.error(`lockstep: there is no ${object}`);
      return exitCodes.failed;
    }
    if (json) {
      const siblings = found.siblings.map((sibling) => siblingJson(sibling));
      console.log(JSON.stringify({ ...name, context: found.context, siblings }));
      return exitCodes.done;
    }
    if (others.length > 0) {
      console.error(`lockstep: ${object} has ${others.length + 1} siblings; --json prints all, a put replaces them`);
      return exitCodes.failed;
    }
    process.stdout.write(only.value);
    if (process.stdout.isTTY) process.stdout.write('\n');
    return exitCodes.done;
  });
}

/** One sibling as JSON. */
export function siblingJson({ value, headers, lastModified }: SiblingValue): object {
  return { value: value.toString('base64'), headers, last_modified: lastModified };
}

function put(object: string, value: string | undefined, options: PutOptions): Promise<ExitCode> {
  const name = objectNameOf(object, options);
  const { file, contentType } = options;
  if ((value === undefined) === (file === undefined))
    throw new UsageError('give the value as an argument or by --file, and not both');
  const body = value === undefined ? readInput(file ?? '') : Buffer.from(value);
  const type = contentType ?? (value === undefined ? 'application/octet-stream' : 'text/plain');
  return withObjects(options, async (objects) => {
    const sent = { value: body, headers: { 'content-type': type } };
    if (options.new === true) {
      if (await objects.put(name, sent, { kind: 'absent' })) return exitCodes.done;
      console.error(`lockstep: ${object} holds something already, and --new was given`);
      return exitCodes.failed;
    }
    const context = await objects.contextOf(name);
    await objects.put(name, sent, { kind: 'replace', ...(context === undefined ? {} : { context }) });
    return exitCodes.done;
  });
}

/** The bytes of a file, or of stdin for `-`. */
function readInput(file: string): Buffer {
  return readFileSync(file === '-' ? 0 : file);
}

function del(object: string, options: ObjectOptions): Promise<ExitCode> {
  const name = objectNameOf(object, options);
  return withObjects(options, async (objects) => {
    if (await objects.delete(name)) return exitCodes.done;
    console.error(`lockstep: there is no ${object}`);
    return exitCodes.failed;
  });
}

function ls(bucket: string | undefined, { type = defaultTypeName, json = false, ...options }: ObjectOptions): Promise<ExitCode> {
  return withObjects(options, async (objects) => {
    const pages = bucket === undefined ? objects.buckets(type) : objects.keys(type, bucket);
    for await (const page of pages) {
      for (const name of page) console.log(json ? JSON.stringify(name) : name);
    }
    return exitCodes.done;
  });
}

function transact({ json = false, ...options }: TransactionOptions): Promise<ExitCode> {
  const body = transactionBody(options);
  return withObjects(options, async (objects) => {
    let answer: WholeAnswer;
    try {
      answer = await objects.transact(body);
    } catch (error) {
      if (isUnsent(error)) throw error;
      return unknownOutcome(error);
    }
    const text = answer.body.toString('utf8').trimEnd();
    if (![200, 202, 409].includes(answer.status)) {
      const refusal = clientOf(options).refusal(answer.status, text);
      if (isDefinite(answer)) throw refusal;
      return unknownOutcome(refusal);
    }
    const { outcome, reason, detail, transaction_id: id } = JSON.parse(text) as Readonly<Record<string, string>>;
    if (outcome === undefined) throw clientOf(options).refusal(answer.status, text);
    if (json) console.log(text);
    else console.log([outcome, id ?? '', reason ?? '', detail ?? ''].filter((word) => word !== '').join(' '));
    if (outcome === 'committed') return exitCodes.done;
    return outcome === 'in_doubt' ? exitCodes.unknown : exitCodes.failed;
  });
}

/** Whether the refusal says that the transaction certainly did not happen. */
function isDefinite({ status, headers }: WholeAnswer): boolean {
  const code = errorCodes.find((one) => one === headers['x-lockstep-error']);
  if (headers['x-lockstep-definite'] === 'true') return true;
  return code === undefined ? status < 500 : errorTable[code].definite;
}

/** The node may have run the transaction, or may run it still. */
function unknownOutcome(error: unknown): ExitCode {
  const reason = error instanceof Error ? error.message : String(error);
  const next = 'the same command with the same --id asks again; without one, see what the keys hold';
  console.error(`lockstep: ${reason}; whether it was committed is not known: ${next}`);
  return exitCodes.unknown;
}

function transactionBody({ file, put: puts, delete: deletions, type, id }: TransactionOptions): Buffer {
  const given = puts.length + deletions.length;
  if ((file === undefined) === (given === 0))
    throw new UsageError('name the writes by --put and --delete, or the whole transaction by --file');
  if (file !== undefined) {
    if (id !== undefined || type !== undefined) throw new UsageError('--file holds the id and the types itself');
    return readInput(file);
  }
  const place = type === undefined ? {} : { type };
  const operations = [
    ...puts.map((word) => {
      const equals = word.indexOf('=');
      if (equals === -1) throw new UsageError(`--put ${word}: write BUCKET/KEY=VALUE`);
      return { op: 'put', ...objectNameOf(word.slice(0, equals), place), value: word.slice(equals + 1) };
    }),
    ...deletions.map((word) => ({ op: 'delete', ...objectNameOf(word, place) })),
  ];
  return Buffer.from(JSON.stringify({ operations, ...(id === undefined ? {} : { id }) }));
}
