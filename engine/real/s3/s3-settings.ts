/**
 * Where an S3 bucket is and who asks, from the same variables and files as the AWS tools read: `AWS_ACCESS_KEY_ID`,
 * `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_DEFAULT_REGION`, `AWS_ENDPOINT_URL_S3`,
 * `AWS_ENDPOINT_URL`, and the keys of the profile (`AWS_PROFILE`) in `~/.aws/credentials` and `~/.aws/config`.
 *
 * Left to other tools: roles and single sign-on. `aws configure export-credentials --format env` turns each of them into
 * the variables above.
 */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { LockstepError } from '../../base/errors.ts';

/** How buckets are addressed. The configuration lets this variable pass (`config/config-key.ts`). */
const addressingVariable = 'LOCKSTEP_S3_ADDRESSING';

/** A bucket, a prefix of names in it, and how it is asked. */
export interface S3Settings {
  readonly bucket: string;
  /** Without `/` at its ends; may be empty. */
  readonly prefix: string;
  /** The origin of the server, `https://s3.eu-west-1.amazonaws.com` for instance. */
  readonly endpoint: string;
  readonly region: string;
  /** The bucket stands in the path, not in the host's name. */
  readonly pathStyle: boolean;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the place of a repository is a bucket. */
export function isS3Url(place: string): boolean {
  return place.startsWith('s3://');
}

/** Reads `s3://bucket/prefix` and the environment. Throws `ConfigInvalid`, with what is missing. */
export function s3SettingsOf(url: string, environment: Environment): S3Settings {
  // An empty variable is one that is not set, as the AWS tools have it.
  const env = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const [, bucket = '', rest = ''] = /^s3:\/\/([^/]*)(.*)$/.exec(url) ?? [];
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw invalid(
      `${url}: write s3://BUCKET or s3://BUCKET/PREFIX, with a bucket name of 3 to 63 characters`,
    );
  const prefix = rest.split('/').filter((part) => part !== '');
  if (prefix.some((part) => part === '.' || part === '..')) throw invalid(`${url}: . and .. are no prefixes`);
  const profile = profileOf(env);
  const region = env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? profile.get('region') ?? 'us-east-1';
  const own = env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL'] ?? profile.get('endpoint_url');
  const endpoint = originOf(own ?? `https://s3.${region}.amazonaws.com`);
  return {
    bucket,
    prefix: prefix.join('/'),
    endpoint,
    region,
    pathStyle: stylesOf(env, own !== undefined || bucket.includes('.')),
    ...credentialsOf(env, profile),
  };
}

function stylesOf(env: Environment, isPathUsual: boolean): boolean {
  const style = env[addressingVariable] ?? '';
  if (!['', 'path', 'virtual'].includes(style)) throw invalid(`${addressingVariable} is path or virtual`);
  return style === '' ? isPathUsual : style === 'path';
}

function originOf(endpoint: string): string {
  if (!URL.canParse(endpoint)) throw invalid(`the endpoint ${endpoint} is no URL; write https://HOST:PORT`);
  const { protocol, origin, pathname } = new URL(endpoint);
  if (!['http:', 'https:'].includes(protocol) || pathname !== '/')
    throw invalid(`the endpoint ${endpoint} must be http://HOST:PORT or https://HOST:PORT, without a path`);
  return origin;
}

function credentialsOf(
  env: Environment,
  profile: ReadonlyMap<string, string>,
): Pick<S3Settings, 'accessKeyId' | 'secretAccessKey' | 'sessionToken'> {
  const id = env['AWS_ACCESS_KEY_ID'];
  const secret = env['AWS_SECRET_ACCESS_KEY'];
  if (id !== undefined && secret !== undefined)
    return { accessKeyId: id, secretAccessKey: secret, sessionToken: env['AWS_SESSION_TOKEN'] };
  const keptId = profile.get('aws_access_key_id');
  const keptSecret = profile.get('aws_secret_access_key');
  if (keptId !== undefined && keptSecret !== undefined)
    return {
      accessKeyId: keptId,
      secretAccessKey: keptSecret,
      sessionToken: profile.get('aws_session_token'),
    };
  throw invalid(
    'no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or keep them in ~/.aws/credentials; ' +
      'for a role or single sign-on run: eval "$(aws configure export-credentials --format env)"',
  );
}

/** The keys of the chosen profile, from both files; those of `credentials` win. */
function profileOf(env: Environment): ReadonlyMap<string, string> {
  const name = env['AWS_PROFILE'] ?? 'default';
  const home = env['HOME'] ?? homedir();
  const kept = env['AWS_SHARED_CREDENTIALS_FILE'] ?? join(home, '.aws/credentials');
  const config = env['AWS_CONFIG_FILE'] ?? join(home, '.aws/config');
  return new Map([
    ...sectionOf(config, name === 'default' ? name : `profile ${name}`),
    ...sectionOf(kept, name),
  ]);
}

function sectionOf(path: string, section: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let current = '';
  for (const line of textOf(path).split('\n')) {
    const [, head] = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line) ?? [];
    if (head !== undefined) current = head;
    // Keys of nested sections are indented.
    const [, key, value] = /^(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (current === section && key !== undefined && value !== undefined) found.set(key, value);
  }
  return found;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // A file that is not there, or may not be read, has no credentials.
    return '';
  }
}

function invalid(detail: string): LockstepError {
  return new LockstepError('ConfigInvalid', detail);
}
