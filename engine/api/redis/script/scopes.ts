/**
 * Lexical scopes of a script: the names that a block declares, while the script is compiled, and the values of the
 * block's local variables, while it runs.
 */
import type * as ast from 'luaparse';
import { present } from '../../../base/assert.ts';
import type { LuaValue } from './values.ts';

/** The local variables of a block that runs. */
export interface Env {
  readonly slots: LuaValue[];
  readonly parent: Env | undefined;
  /** The values of `...`, in the environment of a function. */
  readonly rest: readonly LuaValue[];
}

/** The names of a block while it is compiled. */
export class Scope {
  readonly outer: Scope | undefined;
  /** Whether the block is a function's; `...` is only known in a variadic one. */
  readonly kind: 'block' | 'variadic' | 'fixed';
  readonly #names = new Map<string, number>();
  #count = 0;

  constructor(outer: Scope | undefined, kind: Scope['kind'] = 'block') {
    this.outer = outer;
    this.kind = kind;
  }

  declare(name: string): number {
    this.#names.set(name, this.#count);
    return this.#count++;
  }

  find(name: string): number | undefined {
    return this.#names.get(name);
  }
}

/** No values. */
export const none: readonly LuaValue[] = [];

/** The environment of a block within another. */
export function within(env: Env): Env {
  return { slots: [], parent: env, rest: none };
}

/** The environment `depth` blocks further out. */
export function up(env: Env, depth: number): Env {
  let at = env;
  for (let count = depth; count > 0; count--) at = present(at.parent, 'an outer block');
  return at;
}

/** Whether an expression may stand for several values. */
export function isMulti({ type }: ast.Expression): boolean {
  return (
    type === 'CallExpression' ||
    type === 'StringCallExpression' ||
    type === 'TableCallExpression' ||
    type === 'VarargLiteral'
  );
}

/** How Lua's errors name an expression; empty if they do not. */
export function describe(node: ast.Expression, scope: Scope): string {
  switch (node.type) {
    case 'Identifier': {
      for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
        if (at.find(node.name) !== undefined) return `local '${node.name}'`;
      }
      return `global '${node.name}'`;
    }
    case 'MemberExpression':
      return `${node.indexer === ':' ? 'method' : 'field'} '${node.identifier.name}'`;
    case 'IndexExpression':
      return node.index.type === 'StringLiteral' ? `field '${node.index.value}'` : "field '?'";
    default:
      return '';
  }
}
