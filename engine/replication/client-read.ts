/**
 * Runs one read of a client: plans it, runs its round, and further rounds as long as they help. Without a promise as
 * long as the first round succeeds, which nearly all do.
 */
import { Deferred } from '../base/deferred.ts';
import { present } from '../base/assert.ts';
import { LockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import type { OpenSpan } from '../base/request-trace.ts';
import type { StoredObject } from '../replica/object/object.ts';
import type { Member, Placement } from '../cluster/ring/ring.ts';
import type { ReadQuorum } from './needs.ts';
import type { DispatchPlan, Refusal, Viewpoint } from './plan.ts';
import { planRead } from './plan.ts';
import type { PlanCache } from './plan-cache.ts';
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

/** One read of a client. Its first round reports to it. */
export class ClientRead implements ReadResult {
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

  /** Runs the read. Called once. */
  run(): void {
    const { clock } = this.#parts;
    const { times } = this.#request;
    const startUs = clock.nowUs();
    this.#span = began(this.#request, startUs);
    let targets: Targets;
    try {
      targets = this.#plan(startUs);
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#targets = targets;
    const round = this.#roundOf(targets, this);
    this.#round = round;
    const nowUs = times === undefined ? startUs : clock.nowUs();
    times?.asked(nowUs);
    round.run(this.#deadlineUs - nowUs, nowUs);
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

  #failed(error: unknown): void {
    concluded(this.#parts, this.#request.times, this.#span, error);
    const told = named(error, this.#quorum, 'r');
    this.#end.failed(this.#isCounted ? counted(this.#parts, told, 'read') : told);
  }

  /** Decides which replicas to ask. Throws if they cannot be asked. */
  #plan(nowUs: number): Targets {
    const { ring, router, settings } = this.#parts;
    const { need } = this.#quorum;
    const token = router.tokenOf(this.#request.key);
    const placement = ring().placement(token);
    const timeoutUs = (this.#request.timeoutMs ?? settings.timeoutMs) * 1000;
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
