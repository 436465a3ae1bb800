/**
 * The `lockstep` command: registers its subcommands, each in a file of its own, and turns their errors into exit codes.
 * If the first word names a subcommand, only that one is loaded: a node neither waits for the others nor keeps them in
 * memory.
 */
import type { Option } from 'commander';
import { Command, CommanderError, Help } from 'commander';

import { foldedHelp } from './help-text.ts';
import { version } from '../base/version.ts';
import type { ExitCode } from './exit-codes.ts';
import { describeFailure, exitCodeOf, exitCodes } from './exit-codes.ts';
import { painterFor } from './terminal.ts';

const helpAfter = `
Examples:
  lockstep cluster                             three nodes in three racks on this machine, files under ./data
  lockstep cluster --racks 3 --dcs 2           six nodes: two datacenters of three racks
  lockstep start --config lockstep.yaml        one node
  lockstep status --node 127.0.0.1:8098        the members and the ring changes under way
  lockstep doctor HOST:PORT HOST:PORT ...      what is wrong with the cluster, and what to do
  lockstep leave --node 127.0.0.1:8098         the node hands over what it owns and stops
  lockstep standby --node 127.0.0.1:8098       the node serves no client and takes writes; --return ends it
  lockstep transactions list --node HOST:PORT  what is in doubt there; resolve decides
  lockstep get accounts/ann --node HOST:PORT   the value of an object; also put, del, ls, tx
  lockstep export --node HOST:PORT -o F.jsonl  all objects as JSON lines; import writes them again
  lockstep backup DIR --node HOST:PORT ...     one moment of the whole cluster; verify, list, expire; restore
  lockstep load --node HOST:PORT --rate 1000   a load on your own cluster, and its latencies
  lockstep check-config lockstep.yaml          is this configuration valid?
  lockstep check-config --keys                 every key: variable, default, allowed range, meaning
  lockstep certificates secrets n1 n2 n3       a throw-away CA, to try TLS on this machine
  lockstep credentials --help                  which clients have access, with which role
  lockstep store verify data/n1/data/store     is every stored byte sound?
  lockstep wasm check words.wat                would a node take this Wasm module?

Exit codes:
  0  done
  1  it failed; the last line says why
  2  the command line or the configuration is wrong
  3  the outcome of a transaction is not known yet (tx)

Every configuration key is also an environment variable: LOCKSTEP_ and the key in capitals.`;

/** Adds subcommands to the program. `finish` gets the exit code. */
type AddCommands = (program: Command, finish: (code: ExitCode) => void) => void;

/** The subcommands in the order of the help, by file: their names, and how they are loaded. */
const subcommands: readonly (readonly [readonly string[], () => Promise<AddCommands>])[] = [
  [['start'], async () => (await import('./start/start-command.ts')).addStartCommand],
  [['cluster'], async () => (await import('./local-cluster/cluster-command.ts')).addClusterCommand],
  [['status'], async () => (await import('./operate/status-command.ts')).addStatusCommand],
  [['leave'], async () => (await import('./operate/leave-command.ts')).addLeaveCommand],
  [['standby'], async () => (await import('./operate/standby-command.ts')).addStandbyCommand],
  [['upgrade'], async () => (await import('./operate/upgrade-command.ts')).addUpgradeCommand],
  [['transactions'], async () => (await import('./operate/transactions-command.ts')).addTransactionsCommand],
  [['get', 'put', 'del', 'ls', 'tx'], async () => (await import('./data/data-commands.ts')).addDataCommands],
  [['export', 'import'], async () => (await import('./data/export-commands.ts')).addExportCommands],
  [['load'], async () => (await import('./data/load-command.ts')).addLoadCommand],
  [['doctor'], async () => (await import('./operate/doctor-command.ts')).addDoctorCommand],
  [['backup'], async () => (await import('./backup/backup-command.ts')).addBackupCommand],
  [['restore'], async () => (await import('./backup/restore-command.ts')).addRestoreCommand],
  [['check-config'], async () => (await import('./files/check-config-command.ts')).addCheckConfigCommand],
  [['certificates'], async () => (await import('./files/certificates-command.ts')).addCertificatesCommand],
  [['credentials'], async () => (await import('./files/credentials-command.ts')).addCredentialsCommand],
  [['store'], async () => (await import('./store/store-command.ts')).addStoreCommand],
  [['wasm'], async () => (await import('./wasm-command.ts')).addWasmCommand],
];

/** Runs the command line `argv` (as `process.argv`); resolves with the exit code. Never rejects. */
export async function runLockstep(argv: readonly string[]): Promise<ExitCode> {
  let code: ExitCode = exitCodes.done;
  try {
    const program = await buildProgram(argv[2], (finished) => (code = finished));
    await program.parseAsync(argv);
    return code;
  } catch (error) {
    // Commander has already printed what is wrong, or the help that the user asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    console.error(describeFailure(error, painterFor(process.stderr)));
    return exitCodeOf(error);
  }
}

/** The empty list that an option which may be repeated begins with is not worth a word. */
function optionDescription(option: Option): string {
  return Array.isArray(option.defaultValue) ? option.description : new Help().optionDescription(option);
}

async function buildProgram(first: string | undefined, finish: (code: ExitCode) => void): Promise<Command> {
  const program = new Command('lockstep')
    .description('A clustered, replicated key-value datastore.')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', foldedHelp(helpAfter))
    .configureHelp({ optionDescription })
    .showHelpAfterError('(lockstep --help lists commands and options)')
    .exitOverride();
  const named = subcommands.filter(([names]) => first !== undefined && names.includes(first));
  for (const [, load] of named.length > 0 ? named : subcommands) (await load())(program, finish);
  return program;
}
