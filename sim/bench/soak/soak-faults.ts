/**
 * What goes wrong during a soak, one thing after another: nodes killed, paused, cut off from what others send, full
 * disks; and what operators do meanwhile: backups, a node that joins and leaves again.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { runCommand } from '../../processes/node-process.ts';
import type { SoakNode } from './soak-nodes.ts';

/** The kinds, as the summary counts them. */
export const faultKinds = ['kill', 'pause', 'cut', 'fullDisk', 'joinAndLeave', 'backup'] as const;

/** A kind of fault or of an operator's work. */
export type FaultKind = (typeof faultKinds)[number];

const operatorMsMax = 180_000;

/** The faults of one soak. */
export class SoakFaults {
  readonly counts: Record<FaultKind, number> = {
    ...{ kill: 0, pause: 0, cut: 0, fullDisk: 0, joinAndLeave: 0, backup: 0 },
  };
  /** Work of operators that failed. */
  readonly failures: string[] = [];
  readonly #nodes: readonly SoakNode[];
  readonly #spare: SoakNode;
  /** The node whose disk can be filled; undefined if this system allows none. */
  readonly #small: SoakNode | undefined;
  readonly #directory: string;
  readonly #pick: (below: number) => number;
  readonly #note: (what: string) => void;

  constructor(
    nodes: readonly SoakNode[],
    spare: SoakNode,
    small: SoakNode | undefined,
    directory: string,
    pick: (below: number) => number,
    note: (what: string) => void,
  ) {
    this.#nodes = nodes;
    this.#spare = spare;
    this.#small = small;
    this.#directory = directory;
    this.#pick = pick;
    this.#note = note;
  }

  /** Runs faults until `endMs` on the wall clock; each is over, and its node ready again, before the next one. */
  async run(endMs: number): Promise<void> {
    // Every kind comes once in each round, in random order.
    let round: FaultKind[] = [];
    while (Date.now() < endMs) {
      if (round.length === 0) round = this.#shuffled(['kill', 'kill', ...faultKinds]);
      const kind = round.pop();
      if (kind === undefined || (kind === 'fullDisk' && this.#small === undefined)) continue;
      // A ring change takes its time; it is not begun shortly before the end.
      if (kind === 'joinAndLeave' && endMs - Date.now() < 60_000) continue;
      await this.#act(kind);
      this.counts[kind] += 1;
      await sleep(1000 + this.#pick(3000));
    }
  }

  async #act(kind: FaultKind): Promise<void> {
    const node = this.#nodes[this.#pick(this.#nodes.length)];
    if (node === undefined) return;
    const ms = 1000 + this.#pick(7000);
    switch (kind) {
      case 'kill':
        this.#note(`kill -9 of ${node.name}`);
        await node.end('SIGKILL');
        await sleep(this.#pick(5000));
        node.start();
        await this.#back(node);
        return;
      case 'pause':
        this.#note(`${node.name} paused for ${ms} ms`);
        node.signal('SIGSTOP');
        await sleep(ms);
        node.signal('SIGCONT');
        await this.#back(node);
        return;
      case 'cut':
        this.#note(`${node.name} cut off from the other nodes' requests for ${ms} ms`);
        node.cut(true);
        await sleep(ms);
        node.cut(false);
        await this.#back(node);
        return;
      case 'fullDisk':
        await this.#fillDisk(ms);
        return;
      case 'joinAndLeave':
        await this.#joinAndLeave();
        return;
      case 'backup':
        await this.#backup();
        return;
    }
  }

  async #fillDisk(ms: number): Promise<void> {
    if (this.#small === undefined) return;
    this.#note(`the disk of ${this.#small.name} full for ${ms} ms`);
    this.#small.fill();
    await sleep(ms);
    this.#small.free();
    await this.#back(this.#small);
  }

  async #joinAndLeave(): Promise<void> {
    const spare = this.#spare;
    this.#note(`${spare.name} joins and leaves`);
    spare.wipe();
    spare.configure([...this.#nodes, spare], true);
    spare.start();
    await this.#back(spare);
    const joined = await this.#until(async () => (await this.#stateOfSpare()) === 'NORMAL');
    if (!joined) this.failures.push(`${spare.name} did not join within ${operatorMsMax / 1000} s`);
    spare.expectEnd();
    const { code, output } = await runCommand(
      ['leave', '--node', spare.address, '--wait', '--timeout', `${operatorMsMax / 1000}s`],
      operatorMsMax + 10_000,
    );
    if (code !== 0) this.failures.push(`${spare.name} did not leave: ${output}`);
    await spare.end('SIGTERM');
  }

  async #stateOfSpare(): Promise<string | undefined> {
    const answer = await fetch(`http://${this.#spare.address}/cluster`).catch(() => undefined);
    if (answer?.status !== 200) return undefined;
    const { members } = (await answer.json()) as { members: readonly { node: string; state: string }[] };
    return members.find(({ node }) => node === this.#spare.name)?.state;
  }

  async #backup(): Promise<void> {
    this.#note('backup, and its verification');
    const directory = join(this.#directory, 'backups');
    const nodes = this.#nodes.flatMap(({ address }) => ['--node', address]);
    const taken = await runCommand(['backup', 'take', directory, ...nodes], operatorMsMax);
    if (taken.code !== 0) {
      this.failures.push(`backup: ${taken.output}`);
      return;
    }
    const verified = await runCommand(['backup', 'verify', directory], operatorMsMax);
    if (verified.code !== 0) this.failures.push(`backup verify: ${verified.output}`);
  }

  async #back(node: SoakNode): Promise<void> {
    if (!(await node.ready())) this.failures.push(`${node.name} is not ready again: ${node.output}`);
  }

  async #until(holds: () => Promise<boolean>): Promise<boolean> {
    const endMs = Date.now() + operatorMsMax;
    while (Date.now() < endMs) {
      if (await holds()) return true;
      await sleep(500);
    }
    return false;
  }

  #shuffled(kinds: readonly FaultKind[]): FaultKind[] {
    const rest = [...kinds];
    const order: FaultKind[] = [];
    while (rest.length > 0) order.push(...rest.splice(this.#pick(rest.length), 1));
    return order;
  }
}
