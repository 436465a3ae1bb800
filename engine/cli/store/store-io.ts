/** The ports of a store that a command opens itself, outside of a node. */
import type { Disk } from '../../io/disk.ts';
import { realClock } from '../../real/clock.ts';
import { createRealLog } from '../../real/log.ts';
import { RealRandom } from '../../real/random.ts';
import type { StoreIo } from '../../storage/store-io.ts';

/** Ports over `disk`. Warnings and errors are logged as `command`. */
export function storeIoOf(disk: Disk, command: string): StoreIo {
  const log = createRealLog({ level: 'warn', node: command });
  return {
    clock: realClock,
    disk,
    random: new RealRandom(),
    log,
    checks: 'cheap',
    spawn: (name, task) => {
      task().catch((error: unknown) =>
        log.event('error', 'task.failed', { task: name, error: String(error) }),
      );
    },
  };
}
