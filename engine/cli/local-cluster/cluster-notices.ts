/** The notices that `lockstep cluster` prints: the nodes' addresses, commands to try, and the death of a node. */
import { configFileOf } from './cluster-files.ts';
import type { NodeProcess } from './cluster-processes.ts';
import type { ClusterNode } from './cluster-shape.ts';
import { invocation } from '../invocation.ts';
import type { Painter } from '../terminal.ts';
import { painterFor, table } from '../terminal.ts';

/** Prints to stdout that the cluster serves: a table and commands to try, or, if `json`, one line of JSON. */
export function announce(processes: readonly NodeProcess[], dataDirectory: string, json: boolean): void {
  console.log(json ? shapeAsJson(processes, dataDirectory) : shapeAsText(processes, dataDirectory));
}

/** The notice that a node has died, with the command that starts it again. `how` is the exit code or signal. */
export function deathNotice(node: ClusterNode, how: string, configFile: string, painter: Painter): string {
  const again = painter.strong(`${invocation()} start --config ${configFile}`);
  return `${painter.bad(`${node.name} is gone`)} (${how}); start it again with: ${again}`;
}

function shapeAsJson(processes: readonly NodeProcess[], dataDirectory: string): string {
  const nodes = processes.map(({ node, child }) => ({
    ...node,
    config: configFileOf(dataDirectory, node),
    pid: child.pid,
  }));
  return JSON.stringify({ data: dataDirectory, nodes });
}

function shapeAsText(processes: readonly NodeProcess[], dataDirectory: string): string {
  const painter = painterFor(process.stdout);
  const rows = processes.map(({ node, child }) => [
    node.name,
    `${node.datacenter}/${node.rack}`,
    `http://${node.http}`,
    node.pb,
    node.redis,
    node.peer,
    `http://${node.stats}`,
    String(child.pid),
  ]);
  const heading = ['node', 'place', 'HTTP', 'binary protocol', 'Redis', 'peers', 'statistics', 'process'];
  const count = `${rows.length} ${rows.length === 1 ? 'node' : 'nodes'}`;
  return [
    '',
    `${painter.good(`${count} serving`)}, files in ${dataDirectory}; Ctrl-C stops them`,
    '',
    table([heading, ...rows]),
    '',
    'Write on one node, read on another, see what is counted:',
    '',
    ...linesToTry(processes.map(({ node }) => node)).map((line) => `  ${painter.strong(line)}`),
    '',
  ].join('\n');
}

function portOf({ redis }: ClusterNode): string {
  return redis.slice(redis.lastIndexOf(':') + 1);
}

function linesToTry(nodes: readonly ClusterNode[]): readonly string[] {
  const first = nodes.at(0);
  const second = nodes.at(1) ?? first;
  if (first === undefined || second === undefined) return [];
  const path = 'buckets/fruit/keys/apple';
  return [
    `curl -i -X PUT -H 'Content-Type: text/plain' -d 'red and round' http://${first.http}/${path}`,
    `curl -i http://${second.http}/${path}`,
    `redis-cli -p ${portOf(first)} INCR visits`,
    `curl -s http://${first.stats}/metrics`,
  ];
}
