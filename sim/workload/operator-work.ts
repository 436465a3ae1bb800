/**
 * The operators whom faults let act: each uses the running cluster as the operators' pages say, at the wrong moment or in a
 * hurry, and records what came of it.
 */
import type { Io } from '../../engine/io/io.ts';
import type { DetectorDisturbance } from '../check/cluster/failure-detector.ts';
import type { LeaseRecord } from '../evidence/backup-leases.ts';
import type { CredentialAnswer, CredentialChange } from '../evidence/credential-changes.ts';
import type { DecisionRecord, OperatorDecision } from '../evidence/operator-decisions.ts';
import type { UpgradeEvidence } from '../evidence/upgrades.ts';
import type { OperatorActs } from '../faults/fault-context.ts';
import type { Fault } from '../faults/fault.ts';
import { targetOf } from '../faults/fault.ts';
import { CredentialOperator } from './credential-operator.ts';
import { DecisionOperator } from './decision-operator.ts';
import { LeaseOperator } from './lease-operator.ts';
import type { UpgradeOperatorContext } from './upgrade-operator.ts';
import { UpgradeOperator } from './upgrade-operator.ts';

/** The operators of one run. */
export class OperatorWork implements OperatorActs {
  readonly #context: UpgradeOperatorContext;
  readonly #upgrades: UpgradeOperator;
  readonly #credentials: CredentialOperator;
  readonly #leases: LeaseOperator;
  readonly #decisions: DecisionOperator;
  #io: Io | undefined;
  #busy = 0;

  constructor(context: UpgradeOperatorContext) {
    this.#context = context;
    this.#upgrades = new UpgradeOperator(context);
    this.#credentials = new CredentialOperator(context);
    this.#leases = new LeaseOperator(context);
    this.#decisions = new DecisionOperator(context);
  }

  /** Whether no operator has anything under way. */
  get idle(): boolean {
    return this.#busy === 0;
  }

  /** What came of upgrades; undefined if none was asked for. */
  get upgrades(): UpgradeEvidence | undefined {
    return this.#upgrades.evidence;
  }

  /** What clients of changed credentials were answered. */
  get credentialAnswers(): readonly CredentialAnswer[] {
    return this.#credentials.answers;
  }

  /** What became of the holds of backups whose process vanished. */
  get leases(): readonly LeaseRecord[] {
    return this.#leases.leases;
  }

  /** What an operator decided of transactions in doubt. */
  get decisions(): readonly DecisionRecord[] {
    return this.#decisions.decisions;
  }

  get disturbances(): readonly DetectorDisturbance[] {
    return this.#upgrades.disturbances;
  }

  /** Whether the start of a build that speaks up to that version may be refused at that instant. */
  mayRefuseBuild(atUs: number, version: number): boolean {
    return this.#upgrades.mayRefuse(atUs, version);
  }

  upgrade(fault: Fault): boolean {
    const rolled = fault.params['rolled'] === 'yes';
    this.#spawn(fault.id, (io) => this.#upgrades.upgrade(fault.id, targetOf(fault), rolled, io));
    return true;
  }

  changeCredential({ id, targets, forUs, params }: Fault): boolean {
    const [node = ''] = targets;
    if (!this.#credentials.isFree(node)) return false;
    const change = params['change'] as CredentialChange;
    this.#spawn(id, (io) => this.#credentials.change(id, node, change, forUs, io));
    return true;
  }

  abandonBackup(fault: Fault): boolean {
    const { id, params } = fault;
    const node = targetOf(fault);
    if (!this.#context.cluster.serves(node)) return false;
    const leaseUs = Number(params['leaseMs']) * 1000;
    const cuts = params['cuts'] === 'yes';
    this.#spawn(id, (io) => this.#leases.vanish(id, node, leaseUs, cuts, io));
    return true;
  }

  decide(fault: Fault): boolean {
    const node = targetOf(fault);
    if (!this.#context.cluster.serves(node)) return false;
    const decision = fault.params['decision'] as OperatorDecision;
    this.#spawn(fault.id, (io) => this.#decisions.decide(fault.id, node, decision, io));
    return true;
  }

  calm(): void {
    this.#upgrades.calm((task) => this.#spawn('upgrade', task));
  }

  /** Asks the nodes, once everything is healed, what the operators' acts have left. */
  readBack(stopped: () => boolean): void {
    if (this.upgrades !== undefined) this.#spawn('upgrade', (io) => this.#upgrades.lookAfter(io, stopped));
  }

  #spawn(name: string, task: (io: Io) => Promise<void>): void {
    this.#io ??= this.#context.world.addHost('operators').boot();
    const io = this.#io;
    this.#busy += 1;
    io.spawn(name, async () => {
      try {
        await task(io);
      } finally {
        this.#busy -= 1;
      }
    });
  }
}
