/**
 * Stands for the modules of Node.js that packages load and a run never calls, for a browser: files, processes and
 * sockets of prom-client and protobufjs. What they take while loading, and how they format an error, is here.
 */
export const inspect = (value: unknown): string => JSON.stringify(value);
/** As `util.format`, of one value. */
export const format = (value: unknown): string => String(value);
/** As `util.types`, without any. */
export const types = {};

const nothing = { inspect, format, types };
export default nothing;
