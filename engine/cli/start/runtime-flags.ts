/**
 * The flags of Node.js with which a node runs. Node.js reads them when it starts, so whatever starts a node must give
 * them: `lockstep cluster`, the benchmarks, and the files in `engine/deploy`, which `deploy.test.ts` compares with this
 * list. A node without them serves the same, and takes more processor time.
 *
 * The young generation of the heap may grow to two halves of 64 MiB instead of 16. A request in flight has a few
 * kilobytes of objects, and every collection of the young generation copies those of all requests in flight. With 16
 * MiB, a busy node's next collection comes before the requests of the last one have ended: a third of its processor
 * time is collection.
 */
export const nodeFlags: readonly string[] = ['--max-semi-space-size=64'];
