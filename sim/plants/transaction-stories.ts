/** Planted bugs of transactions that the random stories must notice (numbers: the catalogue's). */
import type { PlantedBug } from './plant.ts';

export const transactionStoryBugs: readonly PlantedBug[] = [
  {
    id: 'M06',
    title: 'the decision is never written to the log',
    file: 'engine/xa/coordinator.js',
    find: "writeDecision(xid, decisionOf(active, 'committing', here))",
    replace: "writeDecision(`nobody${xid.slice(xid.length - 15)}`, decisionOf(active, 'committing', here))",
    scenario: 'crash-after-decision',
    oracles: ['INV1', 'INV5'],
    seedsMax: 10,
  },
  {
    id: 'M06x',
    title: 'a client hears of a commit, of keys with one copy each, before the decision is durable',
    file: 'engine/xa/coordinator.js',
    find: 'const error = await forced;',
    replace: `if (active.answersEarly) this.#settle(active, committedOf(active));
        const error = await forced;`,
    scenario: 'one-copy-each',
    oracles: ['INV5'],
    seedsMax: 5,
  },
  {
    id: 'M07',
    title: 'records of the in-doubt log count as forced once they are handed over, not when they are synced',
    file: 'engine/xa/log.js',
    find: `if (outcome === 'ok')
            then.handedOver?.();
        else`,
    replace: `if (outcome === 'ok') {
            then.handedOver?.();
            then.durable?.();
            done.resolve(undefined);
        } else`,
    scenario: 'crash-during-prepare',
    oracles: ['INV1', 'INV5'],
    seedsMax: 10,
  },
  {
    id: 'M08x',
    title: 'a start leaves out the first record of the in-doubt log',
    file: 'engine/xa/log.js',
    find: '[...this.#store.keysOfBucket(prefix)].sort()',
    replace: '[...this.#store.keysOfBucket(prefix)].sort().slice(1)',
    scenario: 'crash-during-prepare',
    oracles: ['INV1', 'INV3', 'INV6', 'INV7'],
    seedsMax: 50,
  },
  {
    id: 'M11',
    title: 'a vote that comes too late turns the abort into a commit',
    file: 'engine/xa/coordinator-protocol.js',
    find: "return { state, commands: vote === 'abort' ? [] : [undoing(node, vote)] };",
    replace: `const late = state.branches.map((one) => (one.node === node ? { ...one, vote } : one));
        return late.every((one) => one.vote === 'commit')
            ? decide({ ...state, branches: late })
            : { state: { ...state, branches: late }, commands: [] };`,
    scenario: 'zombie-coordinator',
    oracles: ['INV1', 'INV2'],
    seedsMax: 50,
  },
  {
    id: 'M12',
    title: 'a branch that asks before the decision is told to roll back, and the delayed commit goes on',
    file: 'engine/xa/coordinator-protocol.js',
    find: "return state.phase === 'aborted' ? 'aborted' : 'undecided';",
    replace: "return state.phase === 'committing' ? 'undecided' : 'aborted';",
    scenario: 'zombie-coordinator',
    oracles: ['INV1'],
    seedsMax: 50,
  },
  {
    id: 'M17',
    title: 'a prepare that comes once more when its transaction is over begins it anew',
    file: 'engine/xa/branches.js',
    find: "this.#ended.enter(xid, checked ? 'readOnly' : 'refused');",
    replace: "this.#ended.of(checked ? 'readOnly' : 'refused');",
    scenario: 'doubled-commits',
    oracles: ['INV1', 'INV6', 'INV8', 'INV24'],
    seedsMax: 50,
  },
  {
    id: 'M18',
    title: 'a branch with one write is taken for one that only reads',
    file: 'engine/xa/orders.js',
    find: "return clientId === '' && operations.every(({ check }) => check);",
    replace: "return clientId === '' && operations.filter(({ check }) => !check).length <= 1;",
    scenario: 'transactions',
    oracles: ['INV1', 'INV6'],
    seedsMax: 10,
  },
  {
    id: 'M71',
    title: 'a branch that has nothing to write lets its keys go with its vote, before the others have theirs',
    file: 'engine/xa/branches.js',
    find: "this.#vote(branch, kind === 'voteCommit' ? votedCommit(mark) : votedReadOnly());",
    replace: `this.#vote(branch, kind === 'voteCommit' ? votedCommit(mark) : votedReadOnly());
                if (kind === 'voteReadOnly')
                    this.#release(branch);`,
    scenario: 'erased-and-stamped',
    oracles: ['INV24', 'INV7', 'INV6', 'INV1'],
    seedsMax: 20,
  },
  {
    id: 'M76',
    title: 'what an operator decided over one branch is told to the others as the transaction’s outcome',
    file: 'engine/xa/branch-protocol.js',
    find: "return phase === 'applied' ? 'committed' : 'undecided';",
    replace: `if (phase === 'heuristicRolledBack')
        return 'aborted';
    return phase === 'applied' || phase === 'heuristicCommitted' ? 'committed' : 'undecided';`,
    scenario: 'coordinator-never-returns',
    oracles: ['INV1'],
    seedsMax: 50,
  },
  {
    id: 'M39x',
    title: 'a batch whose later condition fails keeps the writes before it',
    file: 'engine/xa/conditions.js',
    find: "const reason = error.code === 'PreconditionFailed' ? 'precondition_failed' : 'prepare_failed';",
    replace: `const reason = error.code === 'PreconditionFailed' ? 'precondition_failed' : 'prepare_failed';
                const deaf = { applied: () => undefined, durable: () => undefined, failed: () => undefined };
                replica.coordinateAll(operations.map(vettedWrite), [], deaf);`,
    scenario: 'conflicting-batches',
    oracles: ['INV1', 'INV6'],
    seedsMax: 50,
  },
  {
    id: 'M63',
    title: 'a put asked for by another node is carried out again when its message comes twice',
    file: 'engine/xa/asked-puts.js',
    find: `if (known !== undefined)
            return { kind: 'told', state: saidOf(known) };`,
    replace: '/* once more */',
    scenario: 'puts-cut-short',
    oracles: ['INV8'],
    seedsMax: 10,
  },
  {
    id: 'M64',
    title: 'a node that has been restarted says of a put that it was asked for before that it never was',
    file: 'engine/xa/asked-puts.js',
    find: 'if (life !== this.#context.lives.own())',
    replace: 'if (life === 0)',
    scenario: 'puts-cut-short',
    oracles: ['INV1', 'INV2'],
    seedsMax: 20,
  },
  {
    id: 'M65',
    title: 'the other replicas get a put on condition before it is durable at its primary',
    file: 'engine/xa/own-puts.js',
    find: 'this.tentative = write.ifContext !== undefined;',
    replace: 'this.tentative = false;',
    scenario: 'puts-cut-short',
    oracles: ['INV1', 'INV5', 'INV6'],
    seedsMax: 50,
  },
  {
    id: 'M78',
    title: 'a branch that was carried out and is never told to forget does not ask who needs it',
    file: 'engine/xa/transactions.js',
    find: 'this.#leftovers.tick();',
    replace: '',
    scenario: 'crash-after-decision',
    oracles: ['INV3'],
    seedsMax: 5,
  },
  {
    id: 'M84',
    title: 'a primary that has lost its disk leads transactions before it has got back what it held',
    file: 'engine/transfer/refill.js',
    find: 'if (this.#lack === undefined)\n            return undefined;\n        const { members',
    replace: 'if (this.#lack !== null)\n            return undefined;\n        const { members',
    scenario: 'wiped-primary',
    oracles: ['INV1', 'INV6'],
    seedsMax: 20,
  },
  {
    id: 'M87',
    title: 'nobody tells a node that has lost its disk of transactions for which it had voted',
    file: 'engine/xa/legacy.js',
    find: 'coordinator.all.some((active) => isOpenAt(active, node, life))',
    replace: 'coordinator.all.some((active) => isOpenAt(active, node, 0))',
    scenario: 'wiped-primary',
    oracles: ['INV1', 'INV6', 'INV7'],
    seedsMax: 50,
  },
  {
    id: 'M97',
    title: 'what was carried out for a coordinator that was replaced is kept for ever',
    file: 'engine/xa/leftovers.js',
    find: 'lives.isOver(coordinator)',
    replace: 'lives.isOver(coordinator) && coordinator === node',
    scenario: 'coordinator-is-replaced',
    oracles: ['INV3'],
    seedsMax: 20,
  },
];
