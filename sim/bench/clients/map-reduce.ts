/**
 * MapReduce over a cluster of three real processes: each object holds a JSON list of words; jobs count words, find the
 * distinct ones, or only read. A job's time is that from its request to the last byte of its answer. Processor time is
 * that of all three nodes and is more reliable than elapsed time on a shared machine.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';

import { decodeReply, encodeRequest } from '../../../engine/api/pbc/client-codec.ts';
import type { ClientsBenchOptions, Section } from './client-section.ts';
import type { Conversation } from '../load/closed-loop.ts';
import { closedLoop } from '../load/closed-loop.ts';
import { figure, median, table } from '../figures.ts';
import { LocalCluster } from '../servers/local-cluster.ts';

const basePort = 16_098;
const connections = 64;
const fillSecondsMax = 300;
const wordsPerObject = 10;
const vocabulary = 1000;
const bucket = Buffer.from('texts');

const words = { map: { name: 'map_object_value_list' } };
const jobs: readonly {
  readonly name: string;
  readonly query: unknown;
  readonly sound: (answer: unknown, objects: number) => boolean;
}[] = [
  {
    name: 'word count',
    query: [words, { reduce: { name: 'reduce_count_inputs' } }],
    sound: (answer, objects) => JSON.stringify(answer) === `[${objects * wordsPerObject}]`,
  },
  {
    name: 'distinct words',
    query: [words, { reduce: { name: 'reduce_set_union' } }],
    sound: (answer) => Array.isArray(answer) && answer.length === vocabulary,
  },
  {
    name: 'objects read, none sent',
    query: [{ map: { name: 'Riak.mapByFields', arg: { none: 1 } } }],
    sound: (answer) => JSON.stringify(answer) === '[]',
  },
  {
    name: 'keys counted',
    query: [{ reduce: { name: 'reduce_count_inputs' } }],
    sound: (answer, objects) => JSON.stringify(answer) === `[${objects}]`,
  },
];

/** Runs the section. */
export async function mapReduceSection({ rounds, objects }: ClientsBenchOptions): Promise<Section> {
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-bench-'));
  const cluster = await LocalCluster.start(directory, basePort);
  try {
    await fill(cluster, objects);
    const seconds = new Map<string, number[]>();
    const processor = new Map<string, number[]>();
    // Round 0 warms up and is not counted; each round asks another node.
    for (let round = 0; round <= rounds; round++) {
      for (const { name, query, sound } of jobs) {
        const before = cluster.processorSeconds();
        const took = await timed(
          cluster.httpPort(round % 3),
          { inputs: 'texts', query, timeout: 600_000 },
          (answer) => sound(answer, objects),
        );
        if (round === 0) continue;
        seconds.set(name, [...(seconds.get(name) ?? []), took]);
        const spent = cluster.processorSeconds() - before;
        processor.set(name, [...(processor.get(name) ?? []), spent]);
      }
    }
    return sectionOf(seconds, processor, objects, rounds);
  } finally {
    await cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

function sectionOf(
  seconds: ReadonlyMap<string, readonly number[]>,
  processor: ReadonlyMap<string, readonly number[]>,
  objects: number,
  rounds: number,
): Section {
  const results = [...seconds].map(([name, all]) => ({
    name,
    seconds: median(all),
    secondsMax: Math.max(...all),
    processorSeconds: median(processor.get(name) ?? []),
    objectsPerSecond: objects / median(all),
  }));
  const rows = results.map((one) => [
    one.name,
    figure(one.seconds),
    figure(one.secondsMax),
    figure(one.processorSeconds),
    figure(one.objectsPerSecond),
  ]);
  const load = loadavg()[0] ?? 0;
  const text = [
    `MapReduce over ${figure(objects)} objects of ${wordsPerObject} words on 3 nodes, ${cpus().length} cores, load ${load.toFixed(1)}; median of ${rounds} rounds`,
    table([['job', 'seconds', 'longest', 'processor s', 'objects/s'], ...rows]),
  ].join('\n');
  return { name: 'mapreduce', text, results };
}

/** Puts all objects; a key holds the same words in every run. */
async function fill(cluster: LocalCluster, objects: number): Promise<void> {
  const endpoints = [0, 1, 2].map((node) => ({ host: '127.0.0.1', port: cluster.pbPort(node) }));
  const { operations, errors } = await closedLoop(endpoints, connections, fillSecondsMax, (index) =>
    putting(index, objects),
  );
  const kinds = [...errors].map(([what, count]) => `${count} times ${what}`).join('; ');
  if (operations < objects) throw new Error(`${operations} of ${objects} objects were put; ${kinds}`);
}

function putting(connection: number, objects: number): Conversation {
  let next = connection - connections;
  return {
    request: () => {
      next += connections;
      return next < objects ? putOf(next) : undefined;
    },
    answerBytes: (received) => {
      if (received.length < 5) return 0;
      const length = 4 + received.readUInt32BE(0);
      if (received.length < length) return 0;
      const reply = decodeReply({ code: received[4] ?? 0, body: received.subarray(5, length) });
      if (reply.kind !== 'stored') throw new Error(reply.kind === 'failed' ? reply.text : reply.kind);
      return length;
    },
  };
}

function putOf(index: number): Buffer {
  const list = Array.from(
    { length: wordsPerObject },
    (_, place) => `word${(index * 7 + place * 131) % vocabulary}`,
  );
  const content = { value: Buffer.from(JSON.stringify(list)), content_type: Buffer.from('application/json') };
  return encodeRequest({ kind: 'put', message: { bucket, key: Buffer.from(`text${index}`), content } });
}

/** Seconds of one job. Rejects if `sound` refuses its answer. */
function timed(port: number, job: unknown, sound: (answer: unknown) => boolean): Promise<number> {
  const started = process.hrtime.bigint();
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json' };
    const asked = request({
      host: '127.0.0.1',
      port,
      method: 'POST',
      path: '/mapred',
      headers,
      agent: false,
    });
    asked.on('error', reject);
    asked.on('response', (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        const took = Number(process.hrtime.bigint() - started) / 1e9;
        const text = Buffer.concat(chunks).toString();
        const right = answer.statusCode === 200 && sound(JSON.parse(text));
        if (right) resolve(took);
        else reject(new Error(`the job answered ${answer.statusCode}: ${text.slice(0, 200)}`));
      });
    });
    asked.end(JSON.stringify(job));
  });
}
