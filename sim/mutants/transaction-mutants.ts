/** Mutants of transactions, each with the crash points that expose it. */
import type { EnumeratedMutant } from './mutant.ts';

/** Mutants for `lockstep-sim enumerate xa --mutant`. */
export const transactionMutants: readonly EnumeratedMutant[] = [
  {
    name: 'vote-before-durable',
    code: 'M04',
    title: 'a branch votes before its prepare record is durable',
    file: 'engine/transactions/participant/branch-driver.js',
    find: 'const error = await forced;',
    replace: 'const error = undefined;',
    exposedBy: 'p.vote.sent crash',
    oracles: ['atomicity', 'lock-exclusivity'],
  },
  {
    name: 'commit-before-durable-decision',
    code: 'M05',
    title: 'the coordinator sends commit before the decision record is durable',
    file: 'engine/transactions/coordinator/coordinator.js',
    find: 'const error = await forced;',
    replace: 'const error = void forced;',
    exposedBy: 'c.decision.synced syncLoss',
    oracles: ['atomicity'],
  },
  {
    name: 'own-branch-split-from-decision',
    code: 'M05x',
    title: "the coordinator's own branch is applied after its decision, not together with it",
    file: 'engine/transactions/participant/branch-driver.js',
    find: 'const written = this.#write(branch, as);',
    replace: `const write = async () => {
            const { record, handedOver, durable } = branch.decision;
            handedOver?.();
            const failure = await this.#context.log.force([record]);
            if (failure === undefined)
                durable?.();
            return this.#write(branch, as);
        };
        const written = as === 'withDecision' ? write() : this.#write(branch, as);`,
    exposedBy: 'c.decision.synced syncLoss',
    oracles: ['no-dangling-transactions', 'values'],
  },
  {
    name: 'missing-decision-commits',
    code: 'M09',
    title: 'a missing decision is treated as a commit',
    file: 'engine/transactions/coordinator/coordinator.js',
    find: "return decided?.state === 'committing' ? 'committed' : 'aborted';",
    replace: "return 'committed';",
    exposedBy: 'c.decision.beforeLog crash',
    oracles: ['atomicity'],
  },
  {
    name: 'in-doubt-branch-rolls-back',
    code: 'M10',
    title: 'a branch that voted rolls back when the coordinator is silent',
    file: 'engine/transactions/participant/inquiries.js',
    find: "return reply.kind === 'told' ? reply.state : 'undecided';",
    replace: "return reply.kind === 'told' ? reply.state : 'aborted';",
    exposedBy: 'c.decision.synced partition',
    oracles: ['atomicity'],
  },
  {
    name: 'locks-forgotten-at-restart',
    code: 'M13',
    title: 'the locks of prepared branches are forgotten at a restart',
    file: 'engine/transactions/participant/branch-driver.js',
    find: "if (phase === 'preparing' || phase === 'prepared')",
    replace: "if (phase === 'preparing')",
    exposedBy: 'p.vote.sent syncLoss',
    // The branch driver's assertion stops the branch, which stays in doubt.
    oracles: ['no-dangling-transactions', 'lock-exclusivity', 'values'],
  },
  {
    name: 'branch-never-inquires',
    code: 'M14',
    title: 'a branch whose coordinator died during the prepare phase never inquires, and keeps its locks',
    file: 'engine/transactions/transactions.js',
    find: 'this.#inquiries.tick();',
    replace: '',
    exposedBy: 'c.decision.beforeLog crash',
    oracles: ['no-dangling-transactions'],
  },
  {
    name: 'commit-not-resent',
    code: 'M15',
    title: 'a lost commit message is not sent again',
    file: 'engine/transactions/coordinator/coordinator.js',
    find: "this.#post(active, { kind: 'reminded' });",
    replace: '',
    exposedBy: 'p.decision.recv crash',
    oracles: ['no-dangling-transactions'],
  },
  {
    name: 'commit-applied-twice',
    code: 'M16',
    title: 'a duplicate commit is applied twice',
    file: 'engine/transactions/protocol/branch-protocol.js',
    find: "return to(phase, { kind: 'acknowledge' });",
    replace: "return to(phase, { kind: 'apply', as: 'decided' }, { kind: 'acknowledge' });",
    exposedBy: 'p.applied.synced partition',
    // The branch driver's assertion ends the node, and the transaction stays in doubt.
    oracles: ['exactly-once', 'no-dangling-transactions', 'values'],
  },
  {
    name: 'timeout-reported-as-commit',
    code: 'M80',
    title: 'a client receives "committed" when votes timed out and everything was rolled back',
    file: 'engine/api/transaction-rules.js',
    find: "if (outcome.kind !== 'committed' || outcome.operationCount === operations.length)",
    replace: `if (outcome.kind === 'aborted' && outcome.reason === 'prepare_timeout')
        return { kind: 'committed', xid: outcome.xid, operationCount: operations.length, branches: [] };
    if (outcome.kind !== 'committed' || outcome.operationCount === operations.length)`,
    exposedBy: 'p.prepare.recv partition',
    oracles: ['outcome-stability'],
  },
];
