/** EVAL, EVALSHA and their forms: the arguments of a script, as pure functions over a working set, and SCRIPT. */
import { readInteger } from './numbers.ts';
import { Refusal, texts, unknownSubcommand } from './refusals.ts';
import { arrayReply, integerReply, okReply, simpleReply, textReply } from './replies.ts';
import type { Request } from './request-reader.ts';
import type { Apply, ScriptRunner } from './value-commands.ts';
import { argument } from './value-commands.ts';

/** The length of a SHA-1 in hexadecimal digits. */
const hashChars = 40;
/** The place of the number of keys among the arguments; the keys follow. */
export const keyCountAt = 2;

/** The number of keys that the arguments state, or why it is impossible. */
function readKeyCount(request: Request): number | string {
  const count = readInteger(argument(request, keyCountAt));
  if (count === undefined) return texts.notInteger;
  if (count < 0n) return "ERR Number of keys can't be negative";
  const isTooLarge = count > BigInt(request.length - keyCountAt - 1);
  return isTooLarge ? "ERR Number of keys can't be greater than number of args" : Number(count);
}

/** The number of keys that the arguments state; 0 if it is impossible, which the run of the script refuses. */
export function scriptKeyCount(request: Request): number {
  const count = readKeyCount(request);
  return typeof count === 'number' ? count : 0;
}

function run(isHash: boolean, isReadOnly: boolean): Apply {
  return (keys, request, context) => {
    // Redis looks at the length of a hash first.
    if (isHash && argument(request, 1).length !== hashChars) throw new Refusal(texts.noScript);
    const count = readKeyCount(request);
    if (typeof count === 'string') throw new Refusal(count);
    const first = keyCountAt + 1;
    const end = first + count;
    return context.scripts.run(
      {
        ...{ isHash, isReadOnly },
        script: argument(request, 1),
        keys: request.slice(first, end),
        arguments: request.slice(end),
      },
      keys,
      context,
    );
  };
}

/** EVAL: runs a script. */
export const evaluate = run(false, false);
/** EVAL_RO: the same for scripts that write nothing. */
export const evaluateReadOnly = run(false, true);
/** EVALSHA: runs a script that the node has in its cache. */
export const evaluateHash = run(true, false);
/** EVALSHA_RO: the same for scripts that write nothing. */
export const evaluateHashReadOnly = run(true, true);

const help: readonly string[] = [
  'SCRIPT <subcommand> [<arg> ...]. Subcommands are:',
  'EXISTS <sha1> [<sha1> ...], FLUSH [ASYNC|SYNC], LOAD <script>, KILL, HELP; each concerns this node alone.',
];

/** SCRIPT: the cache of the node. Throws `Refusal`. */
export function answerScript(request: Request, scripts: ScriptRunner): Buffer {
  const given = argument(request, 1).toString('latin1');
  switch (given.toUpperCase()) {
    case 'LOAD':
      return textReply(scripts.load(argument(request, 2)));
    case 'EXISTS':
      return arrayReply(
        request.slice(2).map((hash) => integerReply(scripts.has(hash.toString('latin1')) ? 1 : 0)),
      );
    case 'FLUSH': {
      const mode = argument(request, 2).toString('latin1').toUpperCase();
      if (request.length > 3 || !['', 'ASYNC', 'SYNC'].includes(mode)) {
        throw new Refusal('ERR SCRIPT FLUSH only support SYNC|ASYNC option');
      }
      scripts.flush();
      return okReply;
    }
    case 'KILL':
      // A script runs within one turn of the event loop, so none is running when this is read.
      throw new Refusal('NOTBUSY No scripts in execution right now.');
    case 'HELP':
      return arrayReply(help.map((line) => simpleReply(line)));
    default:
      throw unknownSubcommand('SCRIPT', given);
  }
}
