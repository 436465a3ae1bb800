/** Verifies a backup: reads every byte of every segment, and checks it against its hash and each record's checksum. */
import type { BackupManifest } from './manifest.ts';
import type { BackupRepository } from './repository.ts';
import { segmentIdentity } from '../storage/log/record.ts';
import { scanSegment } from '../storage/recovery/scan.ts';

/** Something that is wrong with a backup. */
export interface BackupFinding {
  readonly node: string;
  readonly segment: number;
  readonly detail: string;
}

/** What was read. */
export interface BackupCheck {
  readonly segments: number;
  readonly bytes: number;
  readonly records: number;
  readonly findings: readonly BackupFinding[];
}

/** Verifies all segments that the manifest names. Rejects with `DiskError` if the directory cannot be read. */
export async function verifyBackup(
  repository: BackupRepository,
  manifest: BackupManifest,
  progress: (bytes: number) => void = () => undefined,
): Promise<BackupCheck> {
  const findings: BackupFinding[] = [];
  let segments = 0;
  let bytes = 0;
  let records = 0;
  for (const { node, store_id: storeId, segments: named } of manifest.nodes) {
    for (const segment of named) {
      segments += 1;
      bytes += segment.bytes;
      const say = (detail: string): void => void findings.push({ node, segment: segment.number, detail });
      const damage = await repository.damageOf(segment);
      if (damage === undefined) {
        const file = await repository.open(segment.sha256);
        try {
          const identity = segmentIdentity(Buffer.from(storeId, 'hex'), segment.number, segment.kind);
          const visitor = {
            record: () => void (records += 1),
            lostValue: () => say('a value did not match its checksum on the node already'),
            breach: () => say('bytes were unreadable on the node already'),
          };
          await scanSegment(file, identity, visitor, { sealedLength: segment.bytes });
        } finally {
          await file.close();
        }
      } else say(damage);
      progress(bytes);
    }
  }
  return { segments, bytes, records, findings };
}
