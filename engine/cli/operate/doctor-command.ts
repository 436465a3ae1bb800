/** `lockstep doctor NODE…`: asks every node for its state, and prints what is wrong and what to do. */
import { connect } from 'node:tls';

import type { Command } from 'commander';

import { foldedHelp, gather } from '../help-text.ts';
import type { ClusterView } from '../../node/node.ts';
import type { Examined, Finding } from './doctor-findings.ts';
import { findingsOf } from './doctor-findings.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes, UsageError } from '../exit-codes.ts';
import { inDoubtAt } from './in-doubt.ts';
import type { AskingOptions } from './node-client.ts';
import { NodeClient, withAskingOptions } from './node-client.ts';
import { painterFor } from '../terminal.ts';

interface DoctorOptions extends AskingOptions {
  readonly node: readonly string[];
  readonly json?: boolean;
}

const answerBytesMax = 1024 * 1024;
const handshakeMs = 5000;
const dayMs = 86_400_000;

/** Adds the command `doctor`. `finish` gets the exit code. */
export function addDoctorCommand(program: Command, finish: (code: ExitCode) => void): void {
  withAskingOptions(program.command('doctor'))
    .argument('[node...]', 'the HTTP listeners of the members, as host:port or https://host:port')
    .option('--node <address>', 'the same, as other commands take it; may be repeated', gather, [])
    .option('--json', 'print one line of JSON')
    .addHelpText('after', foldedHelp(helpAfter))
    .description('what is wrong with the cluster, and what to do')
    .action(async (nodes: readonly string[], options: DoctorOptions) => finish(await doctor(nodes, options)));
}

const helpAfter = `
Example:
  lockstep doctor 127.0.0.1:8098 127.0.0.1:8108 127.0.0.1:8118

Looks for: nodes that do not answer, stores that take no writes, members that are down, members that refuse each other
(no version in common, another cluster), ring views that differ, transactions in doubt, clocks apart, mixed versions,
lopsided racks, certificates that end soon.
Exit code: 0 if nothing is wrong (there may be things to watch); 1 if something is; 2 for a wrong command line.`;

async function doctor(
  given: readonly string[],
  { node, json = false, ...asking }: DoctorOptions,
): Promise<ExitCode> {
  const nodes = [...given, ...node];
  if (nodes.length === 0) throw new UsageError('name the nodes: lockstep doctor HOST:PORT …');
  const examined = await Promise.all(nodes.map((address) => examine(address, asking)));
  const findings = findingsOf(examined);
  const wrong = findings.some(({ severity }) => severity === 'wrong');
  if (json) console.log(JSON.stringify({ healthy: !wrong, nodes: nodes.length, findings }));
  else console.log(textOf(findings, nodes.length));
  return wrong ? exitCodes.failed : exitCodes.done;
}

function textOf(findings: readonly Finding[], count: number): string {
  const paint = painterFor(process.stdout);
  if (findings.length === 0)
    return paint.good(`nothing is wrong with ${count === 1 ? 'the node' : `these ${count} nodes`}`);
  return findings
    .map(({ severity, about, problem, advice }) => {
      const word = severity === 'wrong' ? paint.bad('wrong') : paint.strong('watch');
      return `${word}  ${about}: ${problem}\n       ${advice}`;
    })
    .join('\n');
}

/** What a node answers. Never rejects for a node that cannot be asked; throws `UsageError` for a wrong address. */
async function examine(address: string, asking: AskingOptions): Promise<Examined> {
  const client = new NodeClient(address, asking, process.env);
  try {
    const beganMs = Date.now();
    const { status, headers, body } = await client.exchange('GET', '/cluster', { answerBytesMax });
    const midMs = (beganMs + Date.now()) / 2;
    if (status !== 200) throw client.refusal(status, body.toString('utf8'));
    const view = JSON.parse(body.toString('utf8')) as ClusterView;
    const stats = JSON.parse(await client.obtain(200, 'GET', '/stats')) as {
      readonly lockstep_version?: string;
    };
    const days = client.origin.startsWith('https:') ? await certificateDays(client.origin) : undefined;
    // The header has whole seconds: on average the clock is half a second further.
    const dateMs = headers.date === undefined ? undefined : Date.parse(headers.date) + 500;
    return {
      address,
      view,
      inDoubt: await inDoubtAt(client),
      ...(stats.lockstep_version === undefined ? {} : { version: stats.lockstep_version }),
      ...(dateMs === undefined || Number.isNaN(dateMs) ? {} : { clockAheadMs: dateMs - midMs }),
      ...(days === undefined ? {} : { certificateDays: days }),
    };
  } catch (error) {
    return { address, error: error instanceof Error ? error.message : String(error) };
  }
}

/** Days until the certificate that the listener shows ends; undefined if it shows none in time. */
function certificateDays(origin: string): Promise<number | undefined> {
  const { hostname: host, port } = new URL(origin);
  return new Promise((resolve) => {
    // Only the date is read here; the requests have checked who the node is.
    const socket = connect(
      { host, port: Number(port === '' ? '443' : port), rejectUnauthorized: false },
      () => {
        const ends = Date.parse(socket.getPeerCertificate().valid_to);
        socket.destroy();
        resolve(Number.isNaN(ends) ? undefined : (ends - Date.now()) / dayMs);
      },
    );
    socket.setTimeout(handshakeMs, () => socket.destroy());
    socket.on('error', () => resolve(undefined));
    socket.on('close', () => resolve(undefined));
  });
}
