/**
 * Divides the process's file descriptors between the store, the peers and the clients. A node whose clients hold all
 * descriptors can open no segment and reach no peer. If the system allows fewer than the configuration may use, clients
 * get the rest after the store and the peers (as with Redis's `maxclients`).
 */
import { LockstepError } from '../../base/errors.ts';
import { clientConnectionsDefault } from '../../config/client-keys.ts';
import type { NodeConfig } from '../../config/config.ts';
import type { LogLevel } from '../../io/log.ts';

/**
 * Descriptors of the process itself, of two stores that each keep some segments open and merge others, of clients that
 * read statistics, and of clients that are being refused because the limit is reached.
 */
const ownCount = 208;
/** Connections to and from one peer. Each may overlap with the connection that replaces it. */
const perPeerCount = 4;
/** The fewest connections per listener that are of use. */
const connectionsMin = 4;

/** A configuration that fits into the descriptor limit. */
export interface Fitted {
  readonly config: NodeConfig;
  /** The notice for the log if the configuration was lowered; else undefined. */
  readonly notice: { readonly level: LogLevel; readonly detail: string } | undefined;
}

/** Lowers `clientConnectionsMax` to what fits. Throws `ConfigInvalid` if fewer than four per listener would be left. */
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
  // The operator did not ask for the default, so lowering it is no reason for a warning.
  const level = wanted === clientConnectionsDefault ? 'info' : 'warn';
  return { config: { ...config, clientConnectionsMax: fitting }, notice: { level, detail } };
}
