/**
 * Operators that make mutants of the built engine: small mistakes that an engineer makes in this code. Each finds its
 * places in the syntax tree of one built file. An edit keeps the file a valid module; whether it changes what the
 * program promises is for the testbed to notice.
 */
import type ts from 'typescript';

/** The compiler, which only development installs; callers import it when they need it. */
export type Compiler = typeof ts;

/** The operators, each with what it does. */
export const operators = {
  'drop-await': 'a statement does not wait for what it has started',
  'swap-check-and-await': 'a check and the waiting beside it change places',
  boundary: 'a comparison is off by one',
  'drop-clean-up': 'an entry, timer or lock is not given back',
  'wrong-identity': 'a comparison of identities always holds',
  'stale-value': 'a field keeps its former value',
  'skip-sync': 'data counts as durable without a sync',
  'drop-error': 'an error is swallowed, or reported as success',
} as const;

/** The name of an operator. */
export type OperatorName = keyof typeof operators;

/** One edit of one file: characters `from` to `to - 1` are replaced. */
export interface SourceEdit {
  readonly operator: OperatorName;
  readonly from: number;
  readonly to: number;
  readonly replace: string;
}

/** Statements about the program itself; without them nothing that is promised changes. */
const ofNoEffect = /\b(log|metrics|stats|counts|observer|#observer|failAssertion|sometimes|mark)\b/;
const cleanUps = new Set([
  'delete',
  'cancel',
  'close',
  'clear',
  'release',
  'giveBack',
  'leave',
  'remove',
  'stop',
]);
const identities = new Set([
  'node',
  'xid',
  'id',
  'epoch',
  'generation',
  'view',
  'seq',
  'actor',
  'key',
  'number',
  'life',
]);

/** Every edit that some operator can make of the file's text, in the order of the text. */
export function editsOf(compiler: Compiler, file: string, text: string): readonly SourceEdit[] {
  const source = compiler.createSourceFile(
    file,
    text,
    compiler.ScriptTarget.Latest,
    true,
    compiler.ScriptKind.JS,
  );
  const edits: SourceEdit[] = [];
  const finder = new EditFinder(compiler, source, text, edits);
  const visit = (node: ts.Node): void => {
    finder.look(node);
    node.forEachChild(visit);
  };
  visit(source);
  return edits;
}

class EditFinder {
  readonly #compiler: Compiler;
  readonly #source: ts.SourceFile;
  readonly #text: string;
  readonly #edits: SourceEdit[];

  constructor(compiler: Compiler, source: ts.SourceFile, text: string, edits: SourceEdit[]) {
    this.#compiler = compiler;
    this.#source = source;
    this.#text = text;
    this.#edits = edits;
  }

  look(node: ts.Node): void {
    const {
      isExpressionStatement,
      isBinaryExpression,
      isThrowStatement,
      isCallExpression,
      isBlock,
      isAwaitExpression,
    } = this.#compiler;
    if (isBlock(node)) this.#swaps(node.statements);
    if (isBinaryExpression(node)) this.#comparison(node);
    if (isThrowStatement(node) && this.#isInCatch(node) && !this.#passesForeignOn(node))
      this.#edit('drop-error', node, ';');
    if (isCallExpression(node)) this.#rejection(node);
    if (isAwaitExpression(node)) this.#sync(node);
    if (isExpressionStatement(node) && !ofNoEffect.test(this.#textOf(node))) this.#statement(node);
  }

  #statement(node: ts.ExpressionStatement): void {
    const {
      isAwaitExpression,
      isCallExpression,
      isPropertyAccessExpression,
      isBinaryExpression,
      SyntaxKind,
    } = this.#compiler;
    const { expression } = node;
    if (isAwaitExpression(expression)) {
      this.#edit('drop-await', node, `${this.#textOf(expression.expression)};`);
      return;
    }
    if (isCallExpression(expression) && isPropertyAccessExpression(expression.expression)) {
      if (cleanUps.has(expression.expression.name.text)) this.#edit('drop-clean-up', node, ';');
      return;
    }
    const assigns =
      isBinaryExpression(expression) &&
      expression.operatorToken.kind === SyntaxKind.EqualsToken &&
      isPropertyAccessExpression(expression.left);
    // A constructor's fields would be undefined: a crash, and no mistake that passes a review.
    if (assigns && !this.#isInConstructor(node)) this.#edit('stale-value', node, ';');
  }

  #comparison(node: ts.BinaryExpression): void {
    const { SyntaxKind } = this.#compiler;
    const { kind } = node.operatorToken;
    const boundary = new Map<ts.SyntaxKind, string>([
      [SyntaxKind.GreaterThanEqualsToken, '>'],
      [SyntaxKind.GreaterThanToken, '>='],
      [SyntaxKind.LessThanEqualsToken, '<'],
      [SyntaxKind.LessThanToken, '<='],
    ]).get(kind);
    if (boundary !== undefined && !this.#choosesOfEquals(node))
      this.#edit('boundary', node.operatorToken, boundary);
    const isEqual = kind === SyntaxKind.EqualsEqualsEqualsToken;
    if (!isEqual && kind !== SyntaxKind.ExclamationEqualsEqualsToken) return;
    if (this.#isIdentity(node.left) && this.#isIdentity(node.right))
      this.#edit('wrong-identity', node, isEqual ? 'true' : 'false');
  }

  /**
   * Whether the comparison only chooses one of its two sides: `if (a < b) b = a;` or `a < b ? a : b`. Where they are
   * equal, either choice is the same value.
   */
  #choosesOfEquals(node: ts.BinaryExpression): boolean {
    const { isIfStatement, isConditionalExpression } = this.#compiler;
    const { parent } = node;
    const sides = [this.#textOf(node.left), this.#textOf(node.right)];
    let chosen: readonly string[] = [];
    if (isConditionalExpression(parent) && parent.condition === node)
      chosen = [this.#textOf(parent.whenTrue), this.#textOf(parent.whenFalse)];
    if (isIfStatement(parent) && parent.expression === node && parent.elseStatement === undefined)
      chosen = this.#assigned(parent.thenStatement);
    return chosen.length === 2 && sides.every((side) => chosen.includes(side));
  }

  /** The two sides of a statement that is one assignment; none of any other. */
  #assigned(node: ts.Statement): readonly string[] {
    const { isExpressionStatement, isBinaryExpression, SyntaxKind } = this.#compiler;
    if (!isExpressionStatement(node) || !isBinaryExpression(node.expression)) return [];
    const { left, operatorToken, right } = node.expression;
    return operatorToken.kind === SyntaxKind.EqualsToken ? [this.#textOf(left), this.#textOf(right)] : [];
  }

  #isIdentity(node: ts.Expression): boolean {
    const { isPropertyAccessExpression, isIdentifier } = this.#compiler;
    if (isPropertyAccessExpression(node)) return identities.has(node.name.text.replace('#', ''));
    return isIdentifier(node) && identities.has(node.text);
  }

  /** `reject(error)` becomes `resolve()`; `done(error)` reports success. */
  #rejection(node: ts.CallExpression): void {
    const { isPropertyAccessExpression, isIdentifier } = this.#compiler;
    const { expression, arguments: given } = node;
    const [first] = given;
    if (given.length !== 1 || first === undefined) return;
    if (isPropertyAccessExpression(expression) && expression.name.text === 'reject')
      this.#edit('drop-error', node, `${this.#textOf(expression.expression)}.resolve(undefined)`);
    if (
      isIdentifier(expression) &&
      expression.text === 'done' &&
      isIdentifier(first) &&
      first.text === 'error'
    )
      this.#edit('drop-error', first, 'undefined');
  }

  #sync(node: ts.AwaitExpression): void {
    const called = this.#textOf(node.expression);
    if (/(\.|\?\.)(sync|syncDirectory)\([^)]*\)$/.test(called)) this.#edit('skip-sync', node, 'undefined');
  }

  /** A check that returns or throws, beside a statement that only waits. */
  #swaps(statements: ts.NodeArray<ts.Statement>): void {
    for (let at = 0; at + 1 < statements.length; at++) {
      const [first, second] = [statements[at], statements[at + 1]];
      if (first === undefined || second === undefined) continue;
      const swapped =
        (this.#isCheck(first) && this.#isWait(second)) || (this.#isWait(first) && this.#isCheck(second));
      if (!swapped) continue;
      const from = first.getStart(this.#source);
      const between = this.#text.slice(first.end, second.getStart(this.#source));
      const replace = `${this.#textOf(second)}${between}${this.#textOf(first)}`;
      this.#edits.push({ operator: 'swap-check-and-await', from, to: second.end, replace });
    }
  }

  #isCheck(node: ts.Statement): boolean {
    const { isIfStatement } = this.#compiler;
    if (!isIfStatement(node) || node.elseStatement !== undefined) return false;
    const text = this.#textOf(node);
    return (
      /\b(return|throw|continue|break)\b/.test(text) && !/\bawait\b/.test(text) && !ofNoEffect.test(text)
    );
  }

  #isWait(node: ts.Statement): boolean {
    const { isExpressionStatement, isAwaitExpression } = this.#compiler;
    return isExpressionStatement(node) && isAwaitExpression(node.expression);
  }

  #isInCatch(node: ts.Node): boolean {
    for (
      let up = node.parent;
      !this.#compiler.isFunctionLike(up) && !this.#compiler.isSourceFile(up);
      up = up.parent
    )
      if (this.#compiler.isCatchClause(up)) return true;
    return false;
  }

  /**
   * Whether it passes on what is not of the one class of errors that the code expects: a fault of the program itself,
   * at which a run ends anyway.
   */
  #passesForeignOn(node: ts.ThrowStatement): boolean {
    const { isIdentifier, isIfStatement, isBlock } = this.#compiler;
    if (!isIdentifier(node.expression)) return false;
    const { parent } = node;
    if (isIfStatement(parent))
      return /^(!\(\w+ instanceof \w+\)|\w+ === 'Internal')$/.test(this.#textOf(parent.expression));
    if (!isBlock(parent)) return false;
    const before = parent.statements[parent.statements.indexOf(node) - 1];
    return (
      before !== undefined &&
      isIfStatement(before) &&
      /^\w+ instanceof \w+$/.test(this.#textOf(before.expression))
    );
  }

  #isInConstructor(node: ts.Node): boolean {
    for (let up = node.parent; !this.#compiler.isSourceFile(up); up = up.parent)
      if (this.#compiler.isConstructorDeclaration(up)) return true;
    return false;
  }

  #textOf(node: ts.Node): string {
    return node.getText(this.#source);
  }

  #edit(operator: OperatorName, node: ts.Node, replace: string): void {
    this.#edits.push({ operator, from: node.getStart(this.#source), to: node.end, replace });
  }
}
