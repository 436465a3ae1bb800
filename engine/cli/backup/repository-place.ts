/** The place of a repository as the user names it: a directory, or `s3://bucket/prefix`. */
import { mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';

import { DirectoryStorage } from '../../backup/directory-storage.ts';
import { BackupRepository, repositoryFolders } from '../../backup/repository.ts';
import { createRealDisk } from '../../real/disk.ts';
import { S3Client } from '../../real/s3/s3-client.ts';
import { isS3Url, s3SettingsOf } from '../../real/s3/s3-settings.ts';
import { UsageError } from '../exit-codes.ts';
import { S3Storage } from './s3-storage.ts';

/** The backups at a place. A directory must exist. */
export function repositoryAt(place: string): BackupRepository {
  if (isS3Url(place))
    return new BackupRepository(new S3Storage(new S3Client(s3SettingsOf(place, process.env))));
  const path = resolve(place);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UsageError(`${place} is not a directory`);
  return new BackupRepository(new DirectoryStorage(createRealDisk(path), repositoryFolders));
}

/** As `repositoryAt`; makes the directory if need be. */
export function newRepositoryAt(place: string): BackupRepository {
  if (!isS3Url(place)) mkdirSync(place, { recursive: true });
  return repositoryAt(place);
}

/** Where a restore makes its copy unless told: beside the directory, or among the temporary files. */
export function usualStageOf(place: string): string {
  return isS3Url(place) ? tmpdir() : dirname(resolve(place));
}
