/**
 * Whom the process's descriptors go to. A node whose clients have taken all of them can open no segment and reach no
 * peer; so where the system allows fewer than the configuration may use, clients get what the others leave (as Redis
 * does with its `maxclients`).
 */
import { LockstepError } from '../base/errors.ts';
import { clientConnectionsDefault } from '../config/client-keys.ts';
import type { NodeConfig } from '../config/config.ts';
import type { LogLevel } from '../io/log.ts';

/**
 * The process's own, two stores that each keep some segments open and merge others, who reads statistics, and clients
 * that are told that there is no room for them.
 */
const ownCount = 208;
/** Connections to and from a peer, each perhaps with its successor. */
const perPeerCount = 4;
/** Fewer connections a listener are of no use. */
const connectionsMin = 4;

export interface Fitted {
  readonly config: NodeConfig;
  /** What to tell, if there are fewer connections than were asked for. */
  readonly notice: { readonly level: LogLevel; readonly detail: string } | undefined;
}

/** The configuration with as many client connections as fit. Throws `ConfigInvalid` where too few would be left. */
export function fitConnections(config: NodeConfig, descriptorsMax: number): Fitted {
  const wanted = config.clientConnectionsMax;
  const listeners = [config.listen, config.pbListen, config.redisListen].filter(
    (address) => address !== undefined,
  ).length;
  const reserved = ownCount + perPeerCount * config.seeds.length;
  const fitting = Math.floor((descriptorsMax - reserved) / Math.max(1, listeners));
  if (fitting >= wanted) return { config, notice: undefined };
  const advice = `raise the limit of open files (ulimit -n, LimitNOFILE=) to ${reserved + wanted * listeners}`;
  if (fitting < connectionsMin) {
    const detail = `the system lets this process open ${descriptorsMax} files and connections; a node needs ${reserved + connectionsMin * listeners}: ${advice}`;
    throw new LockstepError('ConfigInvalid', detail);
  }
  const detail = `client_connections_max is ${fitting} instead of ${wanted}, since the system lets this process open ${descriptorsMax} files and connections: ${advice}`;
  // Nobody is warned of not getting what they have not asked for.
  const level = wanted === clientConnectionsDefault ? 'info' : 'warn';
  return { config: { ...config, clientConnectionsMax: fitting }, notice: { level, detail } };
}
