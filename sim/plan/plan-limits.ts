/** Limits of a plan; the validation rejects what exceeds them. */
export const planLimits = {
  fileBytesMax: 64 * 1024 * 1024,
  nodesMax: 64,
  clientsMax: 256,
  keysMax: 100_000,
  operationsMax: 1_000_000,
  faultsMax: 10_000,
  burstsMax: 10_000,
  scrapesMax: 10_000,
  bucketChangesMax: 1000,
  backupsMax: 100,
  changedBucketsMax: 16,
  marksOfBucketsMax: 9000,
  valueBytesMax: 1024 * 1024,
  settingsMax: 200,
  ownInvariantsMax: 1000,
  steadyHostsMax: 1000,
  pacesMax: 10_000,
  paceUsMax: 10_000_000,
  marksMax: 2048,
  /** One day of virtual time. */
  durationUsMax: 86_400_000_000,
} as const;
