/**
 * Collects reports of failing disks that have no cause (`no-silent-failures`): an incarnation reports that its disk
 * failed, and its disk has failed no operation and returned no altered bytes. Then a handler took a fault of the program
 * for one of the disk, and no other check would notice that.
 */
import type { BadEvent } from '../check/report.ts';
import type { Trace } from '../world/core/trace.ts';

/** Events of the engine's log that say that the disk failed. */
const complaintEvents: readonly string[] = [
  'store.failed',
  'store.seal.failed',
  'aae.snapshot.failed',
  'aae.snapshot.kept',
  'aae.snapshot.unreadable',
  'membership.members.unsaved',
  'membership.identity.stuck',
];

/** Follows the log of all hosts. */
export class DiskComplaints {
  readonly unfounded: BadEvent[] = [];

  /** `isTroubled`: the present incarnation's disk has failed an operation, or returned altered bytes. */
  constructor(trace: Pick<Trace, 'on'>, isTroubled: (host: string) => boolean) {
    for (const event of complaintEvents) {
      trace.on(event, ({ host, atUs, fields }) => {
        if (isTroubled(host)) return;
        const text = `${host} reports ${event} (${String(fields['detail'])}), and its disk has failed nothing`;
        this.unfounded.push({ atUs, text });
      });
    }
  }
}
