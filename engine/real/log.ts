/**
 * The log port on a machine: one JSON line per event, through pino, to standard error or standard output.
 *
 * A line holds `level`, `time` (ISO 8601), the node's name, `message` for people, the fields as given, and the event's
 * name as `event`, by which programs find it. Lines
 * are written before `event` returns, so the last events before a crash are not lost unless the reader takes no bytes
 * (`log-lines.ts`); `log.lines.lost` then reports the loss.
 */
import { pino, stdTimeFunctions } from 'pino';
import type { Log, LogLevel, LogFields } from '../io/log.ts';
import { logLevels } from '../io/log.ts';
import { linesOf } from './log-lines.ts';

/** The longest message, in characters; the rest of a longer one is cut. */
const charsMax = 300;

/** The message of an event. */
export function messageOf(name: string, fields: LogFields): string {
  const [first = '', ...rest] = name.split('.');
  const text = `${first}: ${rest.join(' ')}`;
  const { detail } = fields;
  const more =
    detail === undefined
      ? Object.entries(fields).map(([field, value]) => `${field} ${String(value)}`)
      : [String(detail)];
  const whole = more.length === 0 ? text : `${text} (${more.join(', ')})`;
  return whole.length <= charsMax ? whole : `${whole.slice(0, charsMax - 1)}…`;
}

/** Options of `createRealLog`; `stream` is standard error by default. */
export interface RealLogOptions {
  readonly level: LogLevel;
  /** The node's name, in every line. */
  readonly node: string;
  readonly stream?: 'stderr' | 'stdout';
}

/** Makes the log of one node. */
export function createRealLog(options: RealLogOptions): Log {
  const describeLoss = (lines: number): string => {
    const time = new Date().toISOString();
    const event = 'log.lines.lost';
    const message = messageOf(event, { lines });
    return `${JSON.stringify({ level: 'warn', time, node: options.node, message, lines, event })}\n`;
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
  // A node asks about ten times per request, and the level never changes.
  const enabled = new Map(logLevels.map((level) => [level, logger.isLevelEnabled(level)]));
  return {
    enabled: (level) => enabled.get(level) === true,
    event: (level, name, fields = {}) => {
      if (enabled.get(level) === true) logger[level]({ message: messageOf(name, fields), ...fields }, name);
    },
  };
}
