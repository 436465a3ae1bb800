/** The binary protocol's listener. */
import { ClientServer } from '../session/client-server.ts';
import type { PbcDependencies } from './object-calls.ts';
import type { SessionLimits } from './session.ts';
import { Session } from './session.ts';

/** Limits of the listener and of each session. */
export interface PbcLimits extends SessionLimits {
  /** The most open connections. Further ones are answered `Overloaded` and closed. */
  readonly connectionCountMax: number;
}

/** The listener of one node. */
export class PbcServer extends ClientServer<Session> {
  constructor(parts: PbcDependencies, limits: PbcLimits) {
    super(
      parts.io,
      limits.connectionCountMax,
      (connection, onOver) => new Session(parts, limits, connection, onOver),
    );
  }
}
