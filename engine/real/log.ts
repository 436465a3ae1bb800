/**
 * The log door on the machine: one JSON line an event, through pino, to standard error or standard output.
 *
 * A line holds `level` and `time` (ISO 8601), the node's name, the fields as they are, and the event's name as
 * `event`. Lines are written before `event` returns, so that the last words before a crash are not lost, unless nobody
 * takes them (log-lines.ts): `log.lines.lost` tells of those.
 */
import { pino, stdTimeFunctions } from 'pino';
import type { Log, LogLevel } from '../io/log.ts';
import { logLevels } from '../io/log.ts';
import { linesOf } from './log-lines.ts';

export interface RealLogOptions {
  readonly level: LogLevel;
  /** The node's name, in every line. */
  readonly node: string;
  readonly stream?: 'stderr' | 'stdout';
}

export function createRealLog(options: RealLogOptions): Log {
  const describeLoss = (lines: number): string => {
    const time = new Date().toISOString();
    return `${JSON.stringify({ level: 'warn', time, node: options.node, lines, event: 'log.lines.lost' })}\n`;
  };
  const logger = pino(
    {
      level: options.level,
      base: { node: options.node },
      messageKey: 'event',
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    linesOf(options.stream === 'stdout' ? 1 : 2, describeLoss),
  );
  // A node asks some ten times a request, and the level is what it was at the start.
  const enabled = new Map(logLevels.map((level) => [level, logger.isLevelEnabled(level)]));
  return {
    enabled: (level) => enabled.get(level) === true,
    event: (level, name, fields = {}) => logger[level](fields, name),
  };
}
