/** PUBSUB: which channels have subscribers, on all nodes that answer. */
import { bytesOf } from '../../../base/ids.ts';
import { Refusal, unknownSubcommand, wrongArity } from '../refusals.ts';
import { arrayReply, bulkReply, integerReply, simpleReply } from '../replies.ts';
import type { Request } from '../request-reader.ts';
import { channelName } from './message.ts';
import type { Publications } from './publications.ts';

const help: readonly string[] = [
  'PUBSUB <subcommand> [<arg> ...]. Subcommands are:',
  'CHANNELS [<pattern>], NUMPAT, NUMSUB [<channel> ...], SHARDCHANNELS [<pattern>], SHARDNUMSUB [<channel> ...], HELP;',
  'each concerns all nodes of the cluster that answer within a second.',
];

/** Answers PUBSUB. Rejects with `Refusal`, or with `TooLarge`. */
export async function answerPubsub(request: Request, publications: Publications): Promise<Buffer> {
  const given = request[1]?.toString('latin1') ?? '';
  const subcommand = given.toUpperCase();
  const names = request.slice(2).map(channelName);
  switch (subcommand) {
    case 'CHANNELS':
    case 'SHARDCHANNELS': {
      if (names.length > 1) {
        throw new Refusal(
          `ERR unknown subcommand or wrong number of arguments for '${given.slice(0, 128)}'. Try PUBSUB HELP.`,
        );
      }
      const channels = await publications.channels(subcommand === 'SHARDCHANNELS', names[0]);
      return arrayReply(channels.map((channel) => bulkReply(bytesOf(channel))));
    }
    case 'NUMSUB':
    case 'SHARDNUMSUB': {
      const counts = await publications.subscribersOf(names, subcommand === 'SHARDNUMSUB');
      return arrayReply(
        names.flatMap((name, index) => [bulkReply(bytesOf(name)), integerReply(counts[index] ?? 0)]),
      );
    }
    case 'NUMPAT':
      if (names.length > 0) throw wrongArity('pubsub|numpat');
      return integerReply(await publications.patternCount());
    case 'HELP':
      return arrayReply(help.map((line) => simpleReply(line)));
    default:
      throw unknownSubcommand('PUBSUB', given);
  }
}
