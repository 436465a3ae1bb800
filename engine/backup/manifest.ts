/**
 * The manifest of one backup, as text: a line of JSON, and a line with its SHA-256. It names the segments of every node
 * by the hash of their bytes.
 */
import { createHash } from 'node:crypto';

import { LockstepError } from '../base/errors.ts';
import type { OpenTransaction, SegmentFacts } from './messages.ts';

const formatVersion = 1;

/** A segment of a node, and where its bytes are: the file of this SHA-256 (64 hexadecimal digits). */
export interface StoredSegment extends SegmentFacts {
  readonly sha256: string;
}

/** What a backup holds of one node. */
export interface NodeBackup {
  readonly node: string;
  readonly datacenter: string;
  readonly rack: string;
  readonly store_id: string;
  readonly created_ms: number;
  readonly segments: readonly StoredSegment[];
  /** Transactions that waited for an outcome there. A restore decides each as the nodes' logs do. */
  readonly transactions: readonly OpenTransaction[];
}

/** One backup. */
export interface BackupManifest {
  readonly format: number;
  readonly id: string;
  readonly cluster_id: string;
  /** Milliseconds since the epoch. */
  readonly taken_ms: number;
  /** For how long writes were held back, in microseconds. */
  readonly held_us: number;
  readonly view: string;
  /** Members that are not part of it. */
  readonly without: readonly string[];
  readonly nodes: readonly NodeBackup[];
}

/** The two lines. */
export function encodeManifestText(manifest: Omit<BackupManifest, 'format'>): string {
  const line = JSON.stringify({ format: formatVersion, ...manifest });
  return `${line}\n${sha256Of(line)}\n`;
}

/** Parses the two lines. Throws `Corrupted`, or `FormatUnsupported` for a later format. */
export function decodeManifestText(text: string, path: string): BackupManifest {
  const [line = '', sum = ''] = text.split('\n');
  if (sha256Of(line) !== sum) throw new LockstepError('Corrupted', `${path} does not match its checksum`);
  const manifest = JSON.parse(line) as BackupManifest;
  if (manifest.format === formatVersion) return manifest;
  const detail = `${path} is in format ${manifest.format}; this version of the program reads ${formatVersion}`;
  throw new LockstepError('FormatUnsupported', detail);
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Bytes of all segments. */
export function bytesOf({ nodes }: BackupManifest): number {
  return nodes.flatMap(({ segments }) => segments).reduce((sum, { bytes }) => sum + bytes, 0);
}
