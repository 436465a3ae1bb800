/** `lockstep wasm check FILE`: checks whether a node would accept a module, and for which roles. */
import { dirname } from 'node:path';
import type { Command } from 'commander';

import { wasmLimitDefaults } from '../wasm/module-limits.ts';
import { prepareModule } from '../wasm/prepare.ts';
import { binaryOf } from '../wasm/wat.ts';
import { createRealWasmTools } from '../real/wasm-tools.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodes, named } from './exit-codes.ts';

const textTimeoutUs = 10_000_000;

/** Adds the command `wasm` with its only subcommand. `finish` gets the exit code. */
export function addWasmCommand(program: Command, finish: (code: ExitCode) => void): void {
  const wasm = program.command('wasm').description('Wasm modules: routing functions and MapReduce phases');
  wasm
    .command('check')
    .description('would a node take this module (.wasm or .wat), and what is it good for?')
    .argument('<file>', 'the module')
    .option('--json', 'print one line of JSON')
    .action(async (file: string, { json = false }: { readonly json?: boolean }) => {
      const report = await check(file).catch((error: unknown) => {
        throw named(file, error);
      });
      console.log(json ? JSON.stringify(report) : describe(report));
      finish(exitCodes.done);
    });
}

interface Report {
  readonly file: string;
  readonly roles: readonly string[];
  readonly bytes: number;
  readonly metered_bytes: number;
  readonly reused: boolean;
}

async function check(file: string): Promise<Report> {
  const tools = createRealWasmTools(dirname('.'));
  const bytes = await tools.readFile(file, wasmLimitDefaults.moduleBytesMax);
  const binary = await binaryOf(bytes, tools, wasmLimitDefaults.moduleBytesMax, textTimeoutUs);
  const { roles, resettable, bytes: metered } = prepareModule(binary, wasmLimitDefaults);
  return { file, roles, bytes: binary.length, metered_bytes: metered.length, reused: resettable };
}

function describe(report: Report): string {
  const { file, roles, bytes, metered_bytes: metered, reused } = report;
  const instances = reused
    ? 'put back after each call'
    : 'made anew for each call, since it changes tables or segments';
  return `${file} is a module for ${roles.join(' and ')}: ${bytes} bytes, ${metered} with its meters; its instance is ${instances}`;
}
