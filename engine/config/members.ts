/** Parses how the configuration identifies this node and the others: names, places, tokens, and the list of seeds. */
import type { NodeId, Token } from '../base/ids.ts';
import { parseNodeId, parseToken, tokenMax } from '../base/ids.ts';
import type { Address } from '../io/network.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { tokensOfNode } from '../cluster/ring/token.ts';
import { remoteAddress } from './addresses.ts';
import type { ValueKind } from './values.ts';
import { listOf, mapped, optional, parsedText, plain, record, wholeNumber } from './values.ts';

/** A node of the cluster and its address. */
export interface Seed extends Member {
  /** Its `peer_listen`, as this node reaches it. */
  readonly address: Address;
}

/** Most tokens of a node. */
export const tokenCountMax = 256;
/** Most seeds of a configuration. */
export const seedCountMax = 1000;
/** Tokens derived for a node whose configuration gives neither tokens nor their number. */
export const numTokensDefault = 16;

/** A node's name. */
export const nodeName: ValueKind<NodeId> = parsedText('1 to 64 of A-Z a-z 0-9 _ . -', parseNodeId);

/** The name of another node; `none` reads as undefined. */
export const optionalNodeName: ValueKind<NodeId | undefined> = {
  allowed: `none, or ${nodeName.allowed}`,
  read(given, path, report) {
    if (given === 'none') return { value: undefined };
    return nodeName.read(given, path, (at, problem) => report(at, `${problem}, or none`));
  },
};

/** The name of a datacenter or a rack; same form as a node's name. */
export const placeName: ValueKind<string> = nodeName;

const token: ValueKind<Token> = plain(`a whole number from 0 to ${tokenMax}`, (given) => {
  const value = typeof given === 'number' ? parseToken(given) : undefined;
  return value === undefined ? undefined : { value };
});

/** A list of distinct tokens; reads in ascending order. */
export const tokenList: ValueKind<readonly Token[]> = mapped(
  listOf(token, tokenCountMax),
  `a list of at most ${tokenCountMax} different whole numbers from 0 to ${tokenMax}`,
  (tokens, path, report) => {
    const sorted = tokens.toSorted((left, right) => left - right);
    const twice = sorted.find((value, index) => value === sorted[index + 1]);
    if (twice === undefined) return { value: sorted };
    report(path, `the token ${twice} is given twice; tokens must be different`);
    return undefined;
  },
);

/** A number of tokens. */
export const tokenCount: ValueKind<number> = wholeNumber(1, tokenCountMax, 'tokens');

/** `tokens` if there are any; otherwise `numTokens` tokens derived from the node's name. */
export function resolveTokens(node: NodeId, tokens: readonly Token[], numTokens: number): readonly Token[] {
  return tokens.length > 0 ? tokens : tokensOfNode(node, numTokens);
}

const seed: ValueKind<Seed> = mapped(
  record({
    name: { kind: nodeName },
    address: { kind: remoteAddress },
    datacenter: { kind: placeName },
    rack: { kind: placeName },
    tokens: { kind: optional(tokenList), fallback: undefined },
    num_tokens: { kind: optional(tokenCount), fallback: undefined },
  }),
  'a map with name, address, datacenter, rack and either tokens, num_tokens or neither',
  (given, path, report) => {
    const { name: node, address, datacenter, rack } = given;
    if (given.tokens !== undefined && given.num_tokens !== undefined) {
      report(path, 'tokens and num_tokens given; allowed: one of them, or neither');
      return undefined;
    }
    const tokens = resolveTokens(node, given.tokens ?? [], given.num_tokens ?? numTokensDefault);
    return { value: { node, address, datacenter, rack, tokens } };
  },
);

/** The list of seeds, with distinct names. */
export const seedList: ValueKind<readonly Seed[]> = mapped(
  listOf(seed, seedCountMax),
  `a list of at most ${seedCountMax} nodes, each ${seed.allowed}`,
  (seeds, path, report) => {
    const names = new Set<NodeId>();
    for (const { node } of seeds) {
      if (names.has(node)) report(path, `the node ${node} is given twice; names must be different`);
      names.add(node);
    }
    return names.size === seeds.length ? { value: seeds } : undefined;
  },
);
