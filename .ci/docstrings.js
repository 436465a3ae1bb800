/**
 * The lint rule `lockstep/docstrings`: every exported declaration begins with a docstring. A scenario needs none: its
 * field `description` says what it is. Further overloads of a function share the docstring of the first, and a type
 * that of the constant of the same name before it.
 */

function nameOf(statement) {
  if (statement?.type !== 'ExportNamedDeclaration') return undefined;
  return statement.declaration?.id?.name ?? statement.declaration?.declarations?.[0]?.id.name;
}

function hasDocstring(sourceCode, node) {
  const last = sourceCode.getCommentsBefore(node).at(-1);
  const isAbove = last?.loc.end.line === node.loc.start.line - 1;
  return isAbove && last.type === 'Block' && last.value.startsWith('*');
}

export const docstrings = {
  meta: { type: 'suggestion', schema: [] },
  create: (context) => ({
    ExportNamedDeclaration: (node) => {
      if (node.declaration === null || hasDocstring(context.sourceCode, node)) return;
      const { body } = context.sourceCode.ast;
      const before = nameOf(body[body.indexOf(node) - 1]);
      const name = nameOf(node);
      if (name !== undefined && name === before) return;
      context.report({ node, message: `"${name}" is exported: say in a docstring what it is` });
    },
  }),
};
