/** One row of a codec: a field of the legacy JSON that is also a family of the text exposition. */
export interface CodecRow {
  readonly field: string;
  /** A timestamp is in microseconds since the epoch; 0 means never. */
  readonly kind: 'counter' | 'gauge' | 'timestamp';
  readonly help: string;
}

/** The family's name: `svc_pool_client_eof_total`, `svc_pool_client_connections`, `svc_server_in_queue`. */
export function codecFamilyName(group: 'pool' | 'server', row: CodecRow): string {
  return `svc_${group}_${row.field}${row.kind === 'counter' ? '_total' : ''}`;
}
