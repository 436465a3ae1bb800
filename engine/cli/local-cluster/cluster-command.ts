/**
 * `lockstep cluster`: runs several nodes on this machine, each in a process of its own, until Ctrl-C. It never starts a
 * node again that has died; the user does, with the command that it prints.
 */
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';

import { foldedHelp } from '../help-text.ts';
import { Deferred } from '../../base/deferred.ts';
import { keyOf, variableOf } from '../../config/config-key.ts';
import { configFileOf, prepareFiles, runningNodes } from './cluster-files.ts';
import { announce, deathNotice } from './cluster-notices.ts';
import type { NodeProcess } from './cluster-processes.ts';
import { hasEnded, startNode, stopNodes, takenPorts, waitUntilServing } from './cluster-processes.ts';
import type { ClusterNode } from './cluster-shape.ts';
import { basePortDefault, clusterShape, nodeCountMax } from './cluster-shape.ts';
import { nodeFlags } from '../start/runtime-flags.ts';
import { ClusterTies, stopTied } from '../start/cluster-ties.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes, UsageError } from '../exit-codes.ts';
import { stopRequests } from '../start/signals.ts';
import { program } from '../invocation.ts';
import { painterFor } from '../terminal.ts';

interface ClusterCommandOptions {
  readonly nodes?: number;
  readonly racks?: number;
  readonly dcs: number;
  readonly basePort: number;
  readonly data: string;
  readonly json?: boolean;
}

const helpAfter = `
Ports: node 1 has HTTP 8098, binary protocol 8087, Redis 8099, peers 8101, statistics 22222; each further node
has every port 10 higher. --base-port moves all of them by the same distance.

A node that dies is not restarted; the command that starts it again is printed. Ctrl-C stops all
nodes in order, those started again by that command too; a second Ctrl-C at once.`;

/** Longer than the nodes' own drain timeout, which is 10 s by default. */
const stopTimeoutMs = 30_000;

/** Adds the command `cluster`. `finish` gets the exit code. */
export function addClusterCommand(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('cluster')
    .option('--nodes <n>', 'how many nodes (default: one per rack)', countUpTo(nodeCountMax))
    .option(
      '--racks <n>',
      'racks per datacenter, each with one copy of all keys (default: 3, or as many as there are nodes for)',
      countUpTo(nodeCountMax),
    )
    .option('--dcs <n>', 'datacenters', countUpTo(nodeCountMax), 1)
    .option('--base-port <port>', 'HTTP port of the first node', countUpTo(65535), basePortDefault)
    .option('--data <directory>', 'where the nodes’ configuration files and data are', './data')
    .option('--json', 'print the cluster’s shape as one line of JSON once it serves')
    .description('run a cluster on this machine, each node a process, and keep it running until Ctrl-C')
    .addHelpText('after', foldedHelp(helpAfter))
    .action(async (options: ClusterCommandOptions) => {
      finish(await runCluster(options));
    });
}

function countUpTo(max: number): (given: string) => number {
  return (given) => {
    const count = Number(given);
    if (/^[0-9]+$/.test(given) && count >= 1 && count <= max) return count;
    throw new InvalidArgumentError(`allowed: a whole number from 1 to ${max}.`);
  };
}

async function runCluster(options: ClusterCommandOptions): Promise<ExitCode> {
  const nodes = clusterShape({
    nodeCount: options.nodes,
    rackCount: options.racks,
    datacenterCount: options.dcs,
    basePort: options.basePort,
  });
  refuseNodeVariables(process.env);
  const taken = await takenPorts(nodes);
  if (taken.length > 0) {
    throw new Error(
      `these ports are taken: ${taken.join(', ')}; stop what holds them or give another --base-port`,
    );
  }
  const running = await runningNodes(options.data, nodes);
  if (running.length > 0) {
    throw new Error(
      `${running.join(', ')} of ${options.data} already ${running.length === 1 ? 'runs' : 'run'}; stop what runs, or give another --data`,
    );
  }
  const moved = prepareFiles(options.data, nodes);
  if (moved.length > 0) {
    console.error(`other ports than --base-port says stood in ${moved.join(', ')}; they are written again`);
  }
  return superviseCluster(nodes, options);
}

/** Throws `UsageError` if the environment, which all nodes share, sets a key that must differ from node to node. */
function refuseNodeVariables(environment: NodeJS.ProcessEnv): void {
  const perNode = ['name', 'datacenter', 'rack', 'tokens', 'seeds', 'dataDir'];
  const fields = [...perNode, 'listen', 'pbListen', 'redisListen', 'peerListen', 'statsListen'];
  const given = fields.filter((field) => environment[variableOf(field)] !== undefined);
  if (given.length === 0) return;
  const variables = given.map(variableOf).join(', ');
  const keys = given.map(keyOf).join(', ');
  throw new UsageError(
    `${variables} would hold for every node; unset it, and set ${keys} in the nodes’ files`,
  );
}

async function superviseCluster(
  nodes: readonly ClusterNode[],
  options: ClusterCommandOptions,
): Promise<ExitCode> {
  const painter = painterFor(process.stderr);
  const say = (text: string) => console.error(text);
  const stopping = new AbortController();
  const stopRequested = stopRequests().then(() => stopping.abort());
  const noneLeft = new Deferred<void>();
  let processes: readonly NodeProcess[] = [];
  let serving = false;
  const hasGone = (node: ClusterNode, how: string): void => {
    if (!serving || stopping.signal.aborted) return;
    say(deathNotice(node, how, configFileOf(options.data, node), painter));
  };
  const look = (): void => {
    const left = ties.some(({ count }) => count > 0) || processes.some(({ child }) => !hasEnded(child));
    if (!left) noneLeft.resolve();
  };
  const ties = await listenForRestarts(nodes, options.data, {
    say,
    gone: (node, process) => {
      if (process !== undefined) hasGone(node, `process ${process} has ended`);
      look();
    },
  });
  try {
    processes = nodes.map((node) => {
      const config = configFileOf(options.data, node);
      const startArguments = [...nodeFlags, program(), 'start', '--config', config];
      return startNode(node, startArguments, (line) => say(`${painter.quiet(`${node.name} |`)} ${line}`));
    });
    for (const { node, gone } of processes) {
      const ended = (how: string): void => {
        hasGone(node, how);
        look();
      };
      void gone.then(ended, ended);
    }
    await Promise.all(processes.map((started) => waitUntilServing(started, stopping.signal)));
    serving = true;
    announce(processes, options.data, options.json ?? false);
    await Promise.race([stopRequested, noneLeft.promise]);
    if (!stopping.signal.aborted) throw new Error('no node is left');
  } catch (error) {
    // If the user asked to stop while the nodes were starting, the command has not failed.
    if (!stopping.signal.aborted) throw error;
  } finally {
    stopping.abort();
    await stopAll(processes, ties, say);
  }
  return exitCodes.done;
}

/** Listens for nodes that the user starts again. A node whose directory cannot hold a Unix socket is left out. */
async function listenForRestarts(
  nodes: readonly ClusterNode[],
  dataDirectory: string,
  to: {
    readonly say: (text: string) => void;
    readonly gone: (node: ClusterNode, process: string | undefined) => void;
  },
): Promise<readonly ClusterTies[]> {
  const ties: ClusterTies[] = [];
  for (const node of nodes) {
    try {
      const events = {
        serves: (process: string) =>
          to.say(`${node.name} serves again (process ${process}); Ctrl-C here stops it, too`),
        gone: (process: string | undefined) => to.gone(node, process),
      };
      ties.push(await ClusterTies.listen(node.name, configFileOf(dataDirectory, node), events));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      to.say(`${node.name}, if it is started again by hand, is not stopped with the others: ${why}`);
    }
  }
  return ties;
}

/**
 * Stops every node that runs. After the timeout it kills the processes that the command started; processes that the
 * user started are left alone.
 */
async function stopAll(
  processes: readonly NodeProcess[],
  ties: readonly ClusterTies[],
  say: (text: string) => void,
): Promise<void> {
  const left = processes.filter(({ child }) => !hasEnded(child));
  const tied = ties.filter(({ count }) => count > 0).map(({ node }) => node);
  say(`stopping ${[...left.map(({ node }) => node.name), ...tied].join(', ')}`);
  const [killed] = await Promise.all([stopNodes(left, stopTimeoutMs), stopTied(ties, stopTimeoutMs)]);
  const after = `did not stop in ${stopTimeoutMs / 1000} s`;
  if (killed.length > 0) say(`killed, since they ${after}: ${killed.join(', ')}`);
  for (const { node, processes: alive } of ties) {
    if (alive.length > 0)
      say(`${node}, started by hand as process ${alive.join(', ')}, ${after}: it is left alone`);
  }
  await Promise.all(ties.map((tie) => tie.close()));
}
