/**
 * Compiles a parsed Lua 5.1 script to closures over an environment, for one run. A block has an environment: its local
 * variables and its parent. Names are resolved here. Every statement, loop and call counts a step.
 *
 * Source: the Lua 5.1 reference manual, section 2.
 */
import type * as ast from 'luaparse';
import { present } from '../../../base/assert.ts';
import type { Arithmetic, Operators } from './operators.ts';
import type { ParsedScript } from './parse.ts';
import { CompileError, isWrapped, lineOf, rangeOf } from './parse.ts';
import type { Env } from './scopes.ts';
import { Scope, describe, isMulti, none, up, within } from './scopes.ts';
import type { LuaValue, Meter } from './values.ts';
import { LibraryError, LuaError, LuaFunction, LuaTable, isTrue, numberOf } from './values.ts';

type Evaluate = (env: Env) => LuaValue;
type EvaluateAll = (env: Env) => readonly LuaValue[];
/** How a statement ends: it goes on, breaks its loop, or returns values. */
type Flow = undefined | 'break' | readonly LuaValue[];
type Execute = (env: Env) => Flow;
type Assign = (env: Env, value: LuaValue) => void;

/** What a run of a script works with. */
export interface Machine {
  readonly meter: Meter;
  readonly operators: Operators;
  /** The values of global names; a script may not add any. */
  readonly globals: ReadonlyMap<string, LuaValue>;
}

/** Compiles a script to a function of no arguments. Throws `CompileError`. */
export function compileScript(script: ParsedScript, machine: Machine): LuaFunction {
  return new Compiler(script, machine).main();
}

class Compiler {
  readonly #script: ParsedScript;
  readonly #meter: Meter;
  readonly #operators: Operators;
  readonly #globals: ReadonlyMap<string, LuaValue>;

  constructor(script: ParsedScript, { meter, operators, globals }: Machine) {
    this.#script = script;
    this.#meter = meter;
    this.#operators = operators;
    this.#globals = globals;
  }

  main(): LuaFunction {
    const build = this.#function([], true, this.#script.chunk.body, undefined);
    return build({ slots: [], parent: undefined, rest: [] });
  }

  #function(
    parameters: readonly string[],
    isVariadic: boolean,
    body: readonly ast.Statement[],
    outer: Scope | undefined,
  ): (env: Env) => LuaFunction {
    const scope = new Scope(outer, isVariadic ? 'variadic' : 'fixed');
    for (const name of parameters) scope.declare(name);
    const execute = this.#statements(body, scope);
    const count = parameters.length;
    return (parent) =>
      new LuaFunction((args) => {
        const slots: LuaValue[] = [];
        for (let at = 0; at < count; at++) slots.push(args[at]);
        const flow = execute({ slots, parent, rest: isVariadic ? args.slice(count) : none });
        return flow === undefined || flow === 'break' ? none : flow;
      });
  }

  /** The statements of a block, in the environment of the block. */
  #statements(body: readonly ast.Statement[], scope: Scope): Execute {
    const steps = body.map((statement) => this.#statement(statement, scope));
    const meter = this.#meter;
    return (env) => {
      for (const step of steps) {
        meter.step();
        const flow = step(env);
        if (flow !== undefined) return flow;
      }
      return undefined;
    };
  }

  #block(body: readonly ast.Statement[], outer: Scope): Execute {
    const execute = this.#statements(body, new Scope(outer));
    return (env) => execute(within(env));
  }

  #statement(node: ast.Statement, scope: Scope): Execute {
    switch (node.type) {
      case 'LocalStatement':
        return this.#local(node, scope);
      case 'AssignmentStatement':
        return this.#assignment(node, scope);
      case 'CallStatement': {
        const call = this.#all(node.expression, scope);
        return (env) => void call(env);
      }
      case 'FunctionDeclaration':
        return this.#declaration(node, scope);
      case 'ReturnStatement': {
        const values = this.#list(node.arguments, scope, rangeOf(node)[0] + 'return'.length);
        return (env) => values(env);
      }
      case 'IfStatement':
        return this.#if(node, scope);
      case 'WhileStatement':
        return this.#while(node, scope);
      case 'RepeatStatement':
        return this.#repeat(node, scope);
      case 'ForNumericStatement':
        return this.#forNumeric(node, scope);
      case 'ForGenericStatement':
        return this.#forGeneric(node, scope);
      case 'DoStatement':
        return this.#block(node.body, scope);
      case 'BreakStatement':
        return () => 'break';
      default:
        throw new CompileError(`user_script:${lineOf(node)}: ${node.type} is not in Lua 5.1`);
    }
  }

  #local({ variables, init }: ast.LocalStatement, scope: Scope): Execute {
    const last = present(variables.at(-1), 'a variable');
    const values = this.#list(init, scope, rangeOf(last)[1]);
    // The variables are known only after their values.
    const slots = variables.map(({ name }) => scope.declare(name));
    return (env) => {
      const given = values(env);
      slots.forEach((slot, at) => (env.slots[slot] = given[at]));
      return undefined;
    };
  }

  #assignment({ variables, init }: ast.AssignmentStatement, scope: Scope): Execute {
    const last = present(variables.at(-1), 'a variable');
    const targets = variables.map((variable) => this.#target(variable, scope));
    const values = this.#list(init, scope, rangeOf(last)[1]);
    return (env) => {
      const assigns = targets.map((target) => target(env));
      const given = values(env);
      assigns.forEach((assign, at) => assign(env, given[at]));
      return undefined;
    };
  }

  /** The target of an assignment: evaluates its parts, and returns what assigns. */
  #target(node: ast.Expression, scope: Scope): (env: Env) => Assign {
    const line = lineOf(node);
    if (node.type === 'Identifier') {
      const place = this.#place(node.name, scope);
      if (place === undefined) {
        return () => () => this.#fail(line, 'Attempt to modify a readonly table');
      }
      const [depth, slot] = place;
      return () => (env, value) => (up(env, depth).slots[slot] = value);
    }
    if (node.type !== 'MemberExpression' && node.type !== 'IndexExpression') {
      throw new CompileError(`user_script:${line}: cannot assign to a ${node.type}`);
    }
    const base = this.#one(node.base, scope);
    const key = this.#key(node, scope);
    const what = describe(node.base, scope);
    return (env) => {
      const [object, name] = [base(env), key(env)];
      return (_, value) => this.#at(line, () => this.#operators.assign(object, name, value, what));
    };
  }

  #declaration(node: ast.FunctionDeclaration, scope: Scope): Execute {
    const { identifier, isLocal } = node;
    if (identifier === null) throw new CompileError(`user_script:${lineOf(node)}: <name> expected`);
    if (isLocal && identifier.type === 'Identifier') {
      const slot = scope.declare(identifier.name);
      const build = this.#closure(node, scope);
      return (env) => {
        env.slots[slot] = build(env);
        return undefined;
      };
    }
    const isMethod = identifier.type === 'MemberExpression' && identifier.indexer === ':';
    const target = this.#target(identifier, scope);
    const build = this.#closure(node, scope, isMethod ? ['self'] : []);
    return (env) => {
      target(env)(env, build(env));
      return undefined;
    };
  }

  #closure(
    { parameters, body }: ast.FunctionDeclaration,
    scope: Scope,
    first: readonly string[] = [],
  ): (env: Env) => LuaFunction {
    const names = parameters.flatMap((one) => (one.type === 'Identifier' ? [one.name] : []));
    const build = this.#function([...first, ...names], names.length < parameters.length, body, scope);
    return (env) => {
      this.#meter.allocate(functionBytes);
      return build(env);
    };
  }

  #if({ clauses }: ast.IfStatement, scope: Scope): Execute {
    const cases = clauses.map((clause) => ({
      condition: clause.type === 'ElseClause' ? undefined : this.#one(clause.condition, scope),
      execute: this.#block(clause.body, scope),
    }));
    return (env) => {
      for (const { condition, execute } of cases) {
        if (condition === undefined || isTrue(condition(env))) return execute(env);
      }
      return undefined;
    };
  }

  #while({ condition, body }: ast.WhileStatement, scope: Scope): Execute {
    const isOn = this.#one(condition, scope);
    const execute = this.#block(body, scope);
    return (env) => {
      while (isTrue(isOn(env))) {
        this.#meter.step();
        const flow = execute(env);
        if (flow === 'break') break;
        if (flow !== undefined) return flow;
      }
      return undefined;
    };
  }

  /** The condition sees the local variables of the body. */
  #repeat({ condition, body }: ast.RepeatStatement, outer: Scope): Execute {
    const scope = new Scope(outer);
    const execute = this.#statements(body, scope);
    const isOver = this.#one(condition, scope);
    return (env) => {
      for (;;) {
        this.#meter.step();
        const inner = within(env);
        const flow = execute(inner);
        if (flow === 'break') return undefined;
        if (flow !== undefined) return flow;
        if (isTrue(isOver(inner))) return undefined;
      }
    };
  }

  #forNumeric(node: ast.ForNumericStatement, outer: Scope): Execute {
    const bounds = [node.start, node.end, node.step].map((one) =>
      one === null ? undefined : this.#one(one, outer),
    );
    const scope = new Scope(outer);
    scope.declare(node.variable.name);
    const execute = this.#statements(node.body, scope);
    const names = ['initial', 'limit', 'step'];
    return (env) => {
      const [start = 0, end = 0, step = 1] = bounds.map((bound, at) => {
        const number = bound === undefined ? 1 : numberOf(bound(env));
        return number ?? this.#fail(lineOf(node), `'for' ${names[at] ?? ''} value must be a number`);
      });
      for (let value = start; step > 0 ? value <= end : value >= end; value += step) {
        this.#meter.step();
        const flow = execute({ slots: [value], parent: env, rest: none });
        if (flow === 'break') break;
        if (flow !== undefined) return flow;
      }
      return undefined;
    };
  }

  #forGeneric(node: ast.ForGenericStatement, outer: Scope): Execute {
    const last = present(node.variables.at(-1), 'a variable');
    const iterators = this.#list(node.iterators, outer, rangeOf(last)[1]);
    const scope = new Scope(outer);
    for (const { name } of node.variables) scope.declare(name);
    const execute = this.#statements(node.body, scope);
    const line = lineOf(node);
    return (env) => {
      const [next, state, first] = iterators(env);
      for (let control = first; ;) {
        const values = this.#at(line, () => this.#operators.call(next, [state, control]));
        control = values[0];
        if (control === undefined) return undefined;
        const flow = execute({ slots: node.variables.map((_, at) => values[at]), parent: env, rest: none });
        if (flow === 'break') return undefined;
        if (flow !== undefined) return flow;
      }
    };
  }

  /** The values of a list: one of each expression, and all of the last one. `from`: the offset at which it begins. */
  #list(nodes: readonly ast.Expression[], scope: Scope, from: number): EvaluateAll {
    const last = nodes.at(-1);
    if (last === undefined) return () => none;
    const before = nodes.length > 1 ? rangeOf(present(nodes.at(-2), 'an expression'))[1] : from;
    const isWhole = isMulti(last) && !isWrapped(this.#script, last, before);
    if (!isWhole) {
      const each = nodes.map((node) => this.#one(node, scope));
      const [only] = each;
      if (each.length === 1 && only !== undefined) return (env) => [only(env)];
      return (env) => each.map((one) => one(env));
    }
    const each = nodes.slice(0, -1).map((node) => this.#one(node, scope));
    const rest = this.#all(last, scope);
    if (each.length === 0) return rest;
    return (env) => {
      const before = each.map((one) => one(env));
      const others = rest(env);
      this.#meter.step(others.length >>> 3);
      return [...before, ...others];
    };
  }

  /** All values of a call or of `...`. */
  #all(node: ast.Expression, scope: Scope): EvaluateAll {
    switch (node.type) {
      case 'VarargLiteral':
        return this.#rest(node, scope);
      case 'CallExpression':
        return this.#call(
          node.base,
          this.#list(node.arguments, scope, rangeOf(node.base)[1] + this.#opener(node.base)),
          scope,
          lineOf(node),
        );
      case 'StringCallExpression':
        return this.#call(
          node.base,
          this.#list([node.argument], scope, rangeOf(node.argument)[0]),
          scope,
          lineOf(node),
        );
      case 'TableCallExpression':
        return this.#call(
          node.base,
          this.#list([node.arguments], scope, rangeOf(node.arguments)[0]),
          scope,
          lineOf(node),
        );
      default: {
        const one = this.#one(node, scope);
        return (env) => [one(env)];
      }
    }
  }

  /** The distance from the end of a call's base to behind the parenthesis that opens its arguments. */
  #opener(base: ast.Expression): number {
    const end = rangeOf(base)[1];
    const at = this.#script.text.indexOf('(', end);
    return at < 0 ? 0 : at - end + 1;
  }

  #rest(node: ast.VarargLiteral, scope: Scope): EvaluateAll {
    let depth = 0;
    for (let at: Scope | undefined = scope; at !== undefined; at = at.outer, depth++) {
      if (at.kind === 'fixed') break;
      if (at.kind === 'variadic') return (env) => up(env, depth).rest;
    }
    throw new CompileError(`user_script:${lineOf(node)}: cannot use '...' outside a vararg function`);
  }

  #call(base: ast.Expression, args: EvaluateAll, scope: Scope, line: number): EvaluateAll {
    const operators = this.#operators;
    const what = describe(base, scope);
    if (base.type === 'MemberExpression' && base.indexer === ':') {
      const object = this.#one(base.base, scope);
      const { name } = base.identifier;
      const owner = describe(base.base, scope);
      return (env) => {
        const self = object(env);
        const method = this.#at(line, () => operators.index(self, name, owner));
        const given = [self, ...args(env)];
        return this.#at(line, () => operators.call(method, given, what));
      };
    }
    const callee = this.#one(base, scope);
    return (env) => {
      const target = callee(env);
      const given = args(env);
      return this.#at(line, () => operators.call(target, given, what));
    };
  }

  /** One value. */
  #one(node: ast.Expression, scope: Scope): Evaluate {
    switch (node.type) {
      case 'NilLiteral':
        return () => undefined;
      case 'BooleanLiteral':
      case 'NumericLiteral':
      case 'StringLiteral': {
        const { value } = node;
        return () => value;
      }
      case 'Identifier':
        return this.#variable(node, scope);
      case 'FunctionDeclaration':
        return this.#closure(node, scope);
      case 'TableConstructorExpression':
        return this.#table(node, scope);
      case 'MemberExpression':
      case 'IndexExpression': {
        const base = this.#one(node.base, scope);
        const key = this.#key(node, scope);
        const what = describe(node.base, scope);
        const line = lineOf(node);
        return (env) => {
          const [object, name] = [base(env), key(env)];
          return this.#at(line, () => this.#operators.index(object, name, what));
        };
      }
      case 'LogicalExpression':
        return this.#logical(node, scope);
      case 'BinaryExpression':
        return this.#binary(node, scope);
      case 'UnaryExpression':
        return this.#unary(node, scope);
      default: {
        const all = this.#all(node, scope);
        return (env) => all(env)[0];
      }
    }
  }

  #key(node: ast.MemberExpression | ast.IndexExpression, scope: Scope): Evaluate {
    if (node.type === 'IndexExpression') return this.#one(node.index, scope);
    const { name } = node.identifier;
    return () => name;
  }

  #variable(node: ast.Identifier, scope: Scope): Evaluate {
    const { name } = node;
    const place = this.#place(name, scope);
    if (place !== undefined) {
      const [depth, slot] = place;
      if (depth === 0) return (env) => env.slots[slot];
      return (env) => up(env, depth).slots[slot];
    }
    if (this.#globals.has(name)) {
      const value = this.#globals.get(name);
      return () => value;
    }
    const line = lineOf(node);
    return () => this.#fail(line, `Script attempted to access nonexistent global variable '${name}'`);
  }

  #place(name: string, scope: Scope): readonly [depth: number, slot: number] | undefined {
    let depth = 0;
    for (let at: Scope | undefined = scope; at !== undefined; at = at.outer, depth++) {
      const slot = at.find(name);
      if (slot !== undefined) return [depth, slot];
    }
    return undefined;
  }

  #table({ fields }: ast.TableConstructorExpression, scope: Scope): Evaluate {
    const positional: ast.Expression[] = [];
    const keyed: (readonly [Evaluate, Evaluate])[] = [];
    let from = 0;
    for (const [at, field] of fields.entries()) {
      if (field.type === 'TableValue') {
        // Only the last field may stand for several values.
        const isLast = at === fields.length - 1;
        from = isLast ? rangeOf(present(fields[Math.max(0, at - 1)], 'a field'))[at === 0 ? 0 : 1] : from;
        positional.push(field.value);
      } else {
        const key: Evaluate =
          field.type === 'TableKey' ? this.#one(field.key, scope) : constant(field.key.name);
        keyed.push([key, this.#one(field.value, scope)]);
      }
    }
    const endsInValue = fields.at(-1)?.type === 'TableValue';
    const each = positional.map((one) => this.#one(one, scope));
    const values: EvaluateAll = endsInValue
      ? this.#list(positional, scope, from)
      : (env) => each.map((one) => one(env));
    return (env) => {
      const table = new LuaTable(this.#meter);
      this.#at(1, () => {
        for (const [key, value] of keyed) table.set(key(env), value(env));
        values(env).forEach((value, at) => table.set(at + 1, value));
      });
      return table;
    };
  }

  #logical({ operator, left, right }: ast.LogicalExpression, scope: Scope): Evaluate {
    const [one, other] = [this.#one(left, scope), this.#one(right, scope)];
    const goesOn = operator === 'and';
    return (env) => {
      const value = one(env);
      return isTrue(value) === goesOn ? other(env) : value;
    };
  }

  #unary({ operator, argument, ...node }: ast.UnaryExpression, scope: Scope): Evaluate {
    const value = this.#one(argument, scope);
    const what = describe(argument, scope);
    const line = lineOf(node);
    switch (operator) {
      case 'not':
        return (env) => !isTrue(value(env));
      case '-':
        return (env) => {
          const given = value(env);
          return typeof given === 'number'
            ? -given
            : this.#at(line, () => this.#operators.minus(given, what));
        };
      case '#':
        return (env) => {
          const given = value(env);
          return this.#at(line, () => this.#operators.length(given, what));
        };
      default:
        throw new CompileError(`user_script:${line}: '${operator}' is not in Lua 5.1`);
    }
  }

  #binary({ operator, left, right, ...node }: ast.BinaryExpression, scope: Scope): Evaluate {
    const [one, other] = [this.#one(left, scope), this.#one(right, scope)];
    const what = [describe(left, scope), describe(right, scope)] as const;
    const operators = this.#operators;
    const run = this.#operation(operator, lineOf(node));
    const line = lineOf(node);
    return (env) => {
      const [before, after] = [one(env), other(env)];
      this.#meter.step();
      return this.#at(line, () => run(operators, before, after, what));
    };
  }

  #operation(operator: string, line: number): Operation {
    switch (operator) {
      case '+':
      case '-':
      case '*':
      case '/':
      case '%':
      case '^':
        return (on, left, right, what) => on.arithmetic(operator satisfies Arithmetic, left, right, what);
      case '..':
        return (on, left, right, what) => on.concat(left, right, what);
      case '==':
        return (on, left, right) => on.equals(left, right);
      case '~=':
        return (on, left, right) => !on.equals(left, right);
      case '<':
        return (on, left, right) => on.isLess(left, right);
      case '>':
        return (on, left, right) => on.isLess(right, left);
      case '<=':
        return (on, left, right) => on.isAtMost(left, right);
      case '>=':
        return (on, left, right) => on.isAtMost(right, left);
      default:
        throw new CompileError(`user_script:${line}: '${operator}' is not in Lua 5.1`);
    }
  }

  /** Runs an operation, and adds the line to its errors. */
  #at<T>(line: number, run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof LibraryError)) throw error;
      error.table?.set('line', line);
      throw new LuaError(error.table ?? `user_script:${line}: ${error.message}`);
    }
  }

  #fail(line: number, message: string): never {
    throw new LuaError(`user_script:${line}: ${message}`);
  }
}

type Operation = (
  on: Operators,
  left: LuaValue,
  right: LuaValue,
  what: readonly [string, string],
) => LuaValue;

const functionBytes = 64;

function constant(value: LuaValue): Evaluate {
  return () => value;
}
