/**
 * Parses the body of `POST /mapred` and of the binary protocol's MapReduce request to a job. Pure. Refusals are
 * `BadRequest`, with Riak's text where Riak has one, followed by the place (a phase by its index from 0) and the rule.
 */
import { LockstepError } from '../base/errors.ts';
import { checkFields, describe, isObject, parseJson } from './fields.ts';
import type { Job, JobLimits, Json } from './job.ts';
import { parseInputs } from './parse-inputs.ts';
import { parsePhases } from './parse-phases.ts';

/** Parses a body. Throws `BadRequest`. */
export function parseJob(body: Uint8Array, limits: JobLimits): Job {
  const value = jsonOf(body);
  if (!isObject(value)) throw new LockstepError('BadRequest', 'The post body was not a JSON object.\n');
  const { inputs, query, timeout } = value;
  if (inputs === undefined || query === undefined)
    throw new LockstepError('BadRequest', 'The post body was missing the "inputs" or "query" field.\n');
  inField('post', () => checkFields(value, ['inputs', 'query', 'timeout'], 'the body'));
  return {
    inputs: inField('inputs', () => parseInputs(inputs, limits)),
    phases: inField('query', () => parsePhases(query, limits)),
    timeoutMs: inField('timeout', () => timeoutOf(timeout, limits)),
  };
}

function jsonOf(body: Uint8Array): Json {
  try {
    return parseLeniently(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    const known =
      error instanceof SyntaxError || error instanceof TypeError || error instanceof LockstepError;
    if (!known) throw error;
    const detail = `The POST body was not valid JSON.\nThe error from the parser was:\n${error.message}\n`;
    throw new LockstepError('BadRequest', detail);
  }
}

const escape = /\\(?:(["\\/bfnrtu])|([^]))/g;

/** As Riak parses a job: an escape unknown to JSON (`\w`) stands for the character behind the backslash. */
function parseLeniently(text: string): Json {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const plain = text.replace(escape, (whole, known: string | undefined, other: string) =>
      known === undefined ? other : whole,
    );
    if (plain === text) throw error;
    return parseJson(plain);
  }
}

function timeoutOf(timeout: Json | undefined, { timeoutMsMax }: JobLimits): number | undefined {
  if (timeout === undefined) return undefined;
  if (typeof timeout === 'number' && Number.isInteger(timeout) && timeout > 0 && timeout <= timeoutMsMax)
    return timeout;
  throw new LockstepError('BadRequest', `must be 1 to ${timeoutMsMax} ms, not ${describe(timeout)}`);
}

function inField<T>(field: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof LockstepError) || error.code !== 'BadRequest') throw error;
    throw new LockstepError(
      error.code,
      `An error occurred parsing the "${field}" field.\n${error.message}\n`,
    );
  }
}
