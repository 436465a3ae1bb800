/**
 * Runs one read of a client: plans it, runs its round, and further rounds as long as they help. Without a promise as
 * long as the first round succeeds, which nearly all do.
 */
import { Deferred } from '../base/deferred.ts';
import { present } from '../base/assert.ts';
import { LockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { sometimes } from '../base/sometimes.ts';
import type { OpenSpan } from '../base/request-trace.ts';
import type { StoredObject } from '../replica/object/object.ts';
import type { Member, Placement } from '../cluster/ring/ring.ts';
import type { ReadQuorum } from './needs.ts';
import type { DispatchPlan, Refusal, Viewpoint } from './plan.ts';
import { planRead } from './plan.ts';
import type { PlanCache } from './plan-cache.ts';
import type { BatchedRead } from './read-batch.ts';
import type { ReadResult } from './read-round.ts';
import { ReadRound } from './read-round.ts';
import { admit, began, checkTime, concluded, counted, named } from './request-steps.ts';
import type { ConsistencyLevel, GetRequest, ReadEnd, ReadNeed } from './requests.ts';
import type { RoundDependencies } from './round-dependencies.ts';
import { lackingAt } from './round-dependencies.ts';
import { ShortRead, isShort } from './short-read.ts';

const noMembers: readonly Member[] = [];
const soon = Promise.resolve();

/** The members that a read asks, and how. */
interface Targets {
  readonly token: Token;
  readonly placement: Placement;
  /** Replicas that are not asked. */
  readonly away: readonly Member[];
  readonly plan: DispatchPlan;
}

/** One read of a client. Its first round reports to it, or the batch that it is a part of. */
export class ClientRead implements BatchedRead {
  readonly #parts: RoundDependencies;
  readonly #plans: PlanCache;
  readonly #request: GetRequest;
  readonly #quorum: ReadQuorum;
  readonly #isCounted: boolean;
  readonly #end: ReadEnd;
  #deadlineUs = 0;
  #targets: Targets | undefined;
  #round: ReadRound | ShortRead | undefined;
  #span: OpenSpan | undefined;
  /** As in `ReadResult`, of the first round. */
  settled = false;

  /** `isCounted`: whether this node counts why the read fails. */
  constructor(
    parts: RoundDependencies,
    plans: PlanCache,
    request: GetRequest,
    quorum: ReadQuorum,
    isCounted: boolean,
    end: ReadEnd,
  ) {
    this.#parts = parts;
    this.#plans = plans;
    this.#request = request;
    this.#quorum = quorum;
    this.#isCounted = isCounted;
    this.#end = end;
  }

  /** As in `BatchedRead`. */
  get key(): PackedKey {
    return this.#request.key.packed;
  }

  /** As in `BatchedRead`; the read must be prepared. */
  get token(): Token {
    return this.#prepared().token;
  }

  /** As in `BatchedRead`; the read must be prepared. */
  get plan(): DispatchPlan {
    return this.#prepared().plan;
  }

  /** Whether the prepared read may be a part of a batch. */
  get mayJoin(): boolean {
    return this.#span === undefined && isShort(this.plan);
  }

  /** Microseconds that the prepared read may take, from when it was prepared. */
  get timeoutUs(): number {
    return (this.#request.timeoutMs ?? this.#parts.settings.timeoutMs) * 1000;
  }

  /** Decides which replicas to ask. False: they cannot be asked, and the read has failed. Called once. */
  prepare(nowUs: number): boolean {
    this.#span = began(this.#request, nowUs);
    try {
      this.#targets = this.#plan(nowUs);
    } catch (error) {
      this.#failed(error);
      return false;
    }
    return true;
  }

  /** Runs the prepared read by itself. `startUs`: when it was prepared. */
  run(startUs: number): void {
    const { times } = this.#request;
    const round = this.#roundOf(this.#prepared(), this);
    this.#round = round;
    const nowUs = times === undefined ? startUs : this.#parts.clock.nowUs();
    times?.asked(nowUs);
    round.run(this.#deadlineUs - nowUs, nowUs);
  }

  /** The batch that the read is a part of asks the replicas now. */
  asked(nowUs: number): void {
    this.#request.times?.asked(nowUs);
  }

  /** As in `BatchedRead`. */
  continuedBy(round: ReadRound): void {
    this.#round ??= round;
  }

  #prepared(): Targets {
    return present(this.#targets, 'the targets of a prepared read');
  }

  /** As in `ReadResult`. */
  resolve(object: StoredObject | undefined): void {
    if (this.settled) return;
    this.settled = true;
    this.#answered(object);
  }

  /** As in `ReadResult`. */
  reject(error: unknown): void {
    if (this.settled) return;
    this.settled = true;
    this.#readAgain(error).then(
      (object) => this.#answered(object),
      (caught: unknown) => this.#failed(caught),
    );
  }

  #answered(object: StoredObject | undefined): void {
    concluded(this.#parts, this.#request.times, this.#span, undefined);
    this.#end.answered(object);
  }

  /** Reads again if the bucket was flushed meanwhile, as this node has learnt by now. */
  #failed(error: unknown): void {
    concluded(this.#parts, this.#request.times, this.#span, error);
    if (this.#isFlushed() && this.#readInPresentEpoch()) return;
    const told = named(error, this.#quorum, 'r');
    this.#end.failed(this.#isCounted ? counted(this.#parts, told, 'read') : told);
  }

  #isFlushed(): boolean {
    return this.#targets !== undefined && this.#parts.router.epochs.isFormer(this.key);
  }

  /** False if the time is over. */
  #readInPresentEpoch(): boolean {
    const { clock, router } = this.#parts;
    const nowUs = clock.nowUs();
    const timeoutMs = Math.floor((this.#deadlineUs - nowUs) / 1000);
    if (timeoutMs <= 0) return false;
    sometimes('read.again-after-flush');
    const request = { ...this.#request, key: router.epochs.present(this.#request.key), timeoutMs };
    const again = new ClientRead(this.#parts, this.#plans, request, this.#quorum, this.#isCounted, this.#end);
    if (again.prepare(nowUs)) again.run(nowUs);
    return true;
  }

  /** Decides which replicas to ask. Throws if they cannot be asked. */
  #plan(nowUs: number): Targets {
    const { ring, router, settings } = this.#parts;
    const { need } = this.#quorum;
    const token = router.tokenOf(this.#request.key);
    const placement = ring().placement(token);
    const { timeoutUs } = this;
    checkTime(timeoutUs);
    // Before its rebuild is complete this node is not read as the key's primary; it tells peers the same.
    const lacking = lackingAt(this.#parts, token);
    if (need === 'primary' && lacking !== undefined) throw notWhole(lacking);
    // The previous primary may still be applying a transaction on the key.
    if (need === 'primary' && !this.#parts.handedOver(token)) throw changingHands();
    const away: readonly Member[] = lacking === undefined ? noMembers : [this.#parts.self];
    const plan = admit(this.#planRead(placement, settings.readLevel, need, away), 'read');
    this.#deadlineUs = nowUs + timeoutUs;
    return { token, placement, away, plan };
  }

  #roundOf({ token, plan }: Targets, result: ReadResult): ReadRound | ShortRead {
    const { packed } = this.#request.key;
    return isShort(plan)
      ? new ShortRead(this.#parts, packed, token, plan, result, this.#span)
      : new ReadRound(this.#parts, packed, token, plan, result, this.#span);
  }

  /**
   * The first round has failed with `failure`: repairs the replicas, or asks others, as long as that helps and time is
   * left. Rejects with the last round's error.
   */
  async #readAgain(failure: unknown): Promise<StoredObject | undefined> {
    const { clock, settings, stats } = this.#parts;
    const { readDisagreements } = stats;
    // The round's own call ends first.
    await soon;
    let targets = present(this.#targets, 'the targets of a round');
    let round = present(this.#round, 'a round that has failed');
    let error = failure;
    let disagreement: unknown;
    for (;;) {
      const { placement, plan } = targets;
      let isRepaired = false;
      if (round.disagrees && disagreement === undefined) {
        disagreement = error;
        isRepaired = await this.#isRepaired(round);
      }
      if (!isRepaired) {
        if (disagreement !== undefined) {
          if (round.disagrees) readDisagreements.refused += 1;
          else readDisagreements.failed += 1;
          throw error;
        }
        // If the only target failed, the next nearest replica is asked.
        const isLate = clock.nowUs() >= this.#deadlineUs;
        if (plan.targets.length > 1 || round.failed.length === 0 || isLate) throw error;
        const away = [...targets.away, ...round.failed];
        const next = this.#planRead(placement, settings.readLevel, this.#quorum.need, away);
        if (next.kind === 'refused') throw error;
        targets = { ...targets, away, plan: next };
      }
      const answer = new Deferred<StoredObject | undefined>();
      round = this.#roundOf(targets, answer);
      const nowUs = clock.nowUs();
      this.#request.times?.asked(nowUs);
      round.run(this.#deadlineUs - nowUs, nowUs);
      try {
        const object = await answer.promise;
        if (disagreement !== undefined) readDisagreements.answered += 1;
        return object;
      } catch (caught) {
        error = caught;
      }
    }
  }

  /** As `planRead`, without the members `away`. */
  #planRead(
    placement: Placement,
    level: ConsistencyLevel,
    need: ReadNeed,
    away: readonly Member[],
  ): DispatchPlan | Refusal {
    if (away.length === 0) return this.#plans.read(placement, level, need);
    return planRead(without(this.#parts.readView, away), placement, level, need);
  }

  /**
   * Waits until the replicas whose copies differ are repaired, or the deadline passes. True: a new read may find them
   * equal.
   */
  async #isRepaired(round: Pick<ReadRound, 'whenRepaired'>): Promise<boolean> {
    const { clock } = this.#parts;
    const late = new Deferred<void>();
    const timer = clock.after(Math.max(1, this.#deadlineUs - clock.nowUs()), () => late.resolve());
    await Promise.race([round.whenRepaired(), late.promise]);
    timer.cancel();
    return clock.nowUs() < this.#deadlineUs;
  }
}

function notWhole(lacking: string): LockstepError {
  return new LockstepError('Overloaded', lacking, { definite: true });
}

function changingHands(): LockstepError {
  const detail = 'the key is changing hands; try again later';
  return new LockstepError('Overloaded', detail, { definite: true });
}

function without(view: Viewpoint, away: readonly Member[]): Viewpoint {
  return {
    self: view.self,
    rackCount: (datacenter) => view.rackCount(datacenter),
    isRoutable: (member) => !away.includes(member) && view.isRoutable(member),
    isStandby: (member) => view.isStandby(member),
  };
}
