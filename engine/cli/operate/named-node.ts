/** Options that name the running node a command asks: its address, or a configuration file with its listener. */
import type { Command } from 'commander';

import { readConfigFile } from '../files/config-file.ts';
import { UsageError } from '../exit-codes.ts';
import type { AskingOptions } from './node-client.ts';
import { NodeClient, withAskingOptions } from './node-client.ts';

/** Exactly one of `node` (an address) and `config` (a file) must be given. */
export interface NamedNodeOptions extends AskingOptions {
  readonly node?: string;
  readonly config?: string;
}

/** Adds these options to a command. */
export function withNamedNode(command: Command): Command {
  return withAskingOptions(command)
    .option('--node <address>', 'the node’s HTTP listener, as host:port or https://host:port')
    .option('-c, --config <file>', 'its configuration file, which names that listener');
}

/** A client of the named node. Throws `UsageError` unless exactly one option is given, or `ConfigInvalid`. */
export function clientOf({ node, config, ...asking }: NamedNodeOptions): NodeClient {
  if ((node === undefined) === (config === undefined))
    throw new UsageError('name the node by --node or by --config');
  if (node !== undefined) return new NodeClient(node, asking, process.env);
  const { listen, name, tls } = readConfigFile(config ?? '', process.env);
  if (listen === undefined) throw new UsageError(`${name} has no HTTP listener; listen is off`);
  return new NodeClient(listen, asking, process.env, tls !== undefined);
}
