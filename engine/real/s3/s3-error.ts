/** Errors of an S3-compatible server, in words that say what to do; and the few fields that are read of its XML. */
import type { S3Settings } from './s3-settings.ts';

/** The server refused a request, or no answer arrived. */
export class S3Error extends Error {
  override readonly name = 'S3Error';
  /** The HTTP status; 0 if no answer arrived. */
  readonly status: number;
  /** The server's code, `NoSuchBucket` for instance; empty if it gave none. */
  readonly code: string;

  constructor(status: number, code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.code = code;
  }
}

/** The answer of a server that refuses. */
export interface S3Refusal {
  readonly status: number;
  readonly body: string;
  /** The region that the server's header names. */
  readonly region: string | undefined;
}

/** What an answer of an error means for the caller. `action`: what was asked, `PUT s3://b/k` for instance. */
export function refusalOf(
  settings: S3Settings,
  action: string,
  { status, body, region }: S3Refusal,
): S3Error {
  const code = textIn(body, 'Code') ?? '';
  const message = textIn(body, 'Message') ?? '';
  const said = `${settings.endpoint} refused ${action} (${status}${code === '' ? '' : ` ${code}`})`;
  const where = region ?? textIn(body, 'Region');
  const advice = adviceFor(settings, status, code, where);
  return new S3Error(status, code, `${said}: ${advice ?? (message === '' ? 'it gave no reason' : message)}`);
}

function adviceFor(
  settings: S3Settings,
  status: number,
  code: string,
  region: string | undefined,
): string | undefined {
  const { bucket, accessKeyId } = settings;
  if (region !== undefined && region !== settings.region)
    return `the bucket is in the region ${region}, and ${settings.region} was asked for; set AWS_REGION=${region}`;
  if (code === 'NoSuchBucket') return `there is no bucket ${bucket}; create it, or correct its name`;
  if (code === 'InvalidAccessKeyId') return `the server does not know the access key ${accessKeyId}`;
  if (code === 'SignatureDoesNotMatch')
    return `the secret key does not belong to the access key ${accessKeyId}`;
  if (code === 'ExpiredToken' || code === 'TokenRefreshRequired')
    return 'the temporary credentials have expired; renew them and run the command again';
  if (code === 'RequestTimeTooSkewed')
    return 'the clock of this machine is too far from that of the server; set it';
  if (status === 301 || status === 307)
    return 'the bucket is at another endpoint; set AWS_REGION, or AWS_ENDPOINT_URL_S3';
  if (status === 403)
    return `the access key ${accessKeyId} may not do this; it needs to list, get, put and delete objects of ${bucket}`;
  return undefined;
}

/** No answer arrived. */
export function unreachable(settings: S3Settings, action: string, error: unknown): S3Error {
  let reason = error instanceof Error ? error.message : String(error);
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') reason = `${cause.code}: ${cause.message}`;
  }
  return new S3Error(
    0,
    '',
    `${settings.endpoint} cannot be reached (${action}): ${reason}; is AWS_ENDPOINT_URL_S3 or AWS_REGION right?`,
    { cause: error },
  );
}

/** Whether the same request may succeed if it is sent again. */
export function isPassing({ status, code }: S3Error): boolean {
  if (code === 'NotImplemented') return false;
  const codes = [
    'SlowDown',
    'RequestTimeout',
    'InternalError',
    'OperationAborted',
    'ConditionalRequestConflict',
  ];
  return status === 0 || status === 429 || status >= 500 || codes.includes(code);
}

/** The text of the first element of this name, undefined if there is none. */
export function textIn(xml: string, element: string): string | undefined {
  return textsIn(xml, element)[0];
}

/** The texts of all elements of this name that hold text alone. */
export function textsIn(xml: string, element: string): readonly string[] {
  const pattern = new RegExp(`<${element}(?: [^>]*)?>([^<]*)</${element}>`, 'g');
  return [...xml.matchAll(pattern)].map(([, text = '']) => unescaped(text));
}

/** The contents of all elements of this name, which do not nest. */
export function partsIn(xml: string, element: string): readonly string[] {
  const pattern = new RegExp(`<${element}(?: [^>]*)?>(.*?)</${element}>`, 'gs');
  return [...xml.matchAll(pattern)].map(([, part = '']) => part);
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function unescaped(text: string): string {
  return text.replaceAll(
    /&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi,
    (whole, decimal?: string, hex?: string, name = '') => {
      if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
      if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
      return entities[String(name)] ?? whole;
    },
  );
}
