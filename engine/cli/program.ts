/**
 * The `lockstep` command: registers its subcommands, each in a file of its own, and turns their errors into exit codes.
 */
import { Command, CommanderError } from 'commander';

import { foldedHelp } from './help-text.ts';
import { version } from '../base/version.ts';
import { addCertificatesCommand } from './files/certificates-command.ts';
import { addCredentialsCommand } from './files/credentials-command.ts';
import { addCheckConfigCommand } from './files/check-config-command.ts';
import { addBackupCommand } from './backup/backup-command.ts';
import { addRestoreCommand } from './backup/restore-command.ts';
import { addDoctorCommand } from './operate/doctor-command.ts';
import { addDataCommands } from './data/data-commands.ts';
import { addExportCommands } from './data/export-commands.ts';
import { addLoadCommand } from './data/load-command.ts';
import { addClusterCommand } from './local-cluster/cluster-command.ts';
import type { ExitCode } from './exit-codes.ts';
import { describeFailure, exitCodeOf, exitCodes } from './exit-codes.ts';
import { addLeaveCommand } from './operate/leave-command.ts';
import { addStandbyCommand } from './operate/standby-command.ts';
import { addUpgradeCommand } from './operate/upgrade-command.ts';
import { addStartCommand } from './start/start-command.ts';
import { addStatusCommand } from './operate/status-command.ts';
import { addStoreCommand } from './store/store-command.ts';
import { painterFor } from './terminal.ts';
import { addTransactionsCommand } from './operate/transactions-command.ts';
import { addWasmCommand } from './wasm-command.ts';

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

/** Runs the command line `argv` (as `process.argv`); resolves with the exit code. Never rejects. */
export async function runLockstep(argv: readonly string[]): Promise<ExitCode> {
  let code: ExitCode = exitCodes.done;
  const program = buildProgram((finished) => (code = finished));
  try {
    await program.parseAsync(argv);
    return code;
  } catch (error) {
    // Commander has already printed what is wrong, or the help that the user asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    console.error(describeFailure(error, painterFor(process.stderr)));
    return exitCodeOf(error);
  }
}

function buildProgram(finish: (code: ExitCode) => void): Command {
  const program = new Command('lockstep')
    .description('A clustered, replicated key-value datastore.')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', foldedHelp(helpAfter))
    .showHelpAfterError('(lockstep --help lists commands and options)')
    .exitOverride();
  addStartCommand(program, finish);
  addClusterCommand(program, finish);
  addStatusCommand(program, finish);
  addLeaveCommand(program, finish);
  addStandbyCommand(program, finish);
  addUpgradeCommand(program, finish);
  addTransactionsCommand(program, finish);
  addDataCommands(program, finish);
  addExportCommands(program, finish);
  addLoadCommand(program, finish);
  addDoctorCommand(program, finish);
  addBackupCommand(program, finish);
  addRestoreCommand(program, finish);
  addCheckConfigCommand(program, finish);
  addCertificatesCommand(program, finish);
  addCredentialsCommand(program, finish);
  addStoreCommand(program, finish);
  addWasmCommand(program, finish);
  return program;
}
