/**
 * The lint rule `lockstep/docstrings`: every exported declaration begins with a docstring. A scenario needs none: its
 * field `description` says what it is. Further overloads of a function share the docstring of the first.
 */

function nameOf(statement) {
  return statement?.type === 'ExportNamedDeclaration' ? statement.declaration?.id?.name : undefined;
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
      const name = nameOf(node) ?? node.declaration.declarations?.[0]?.id.name;
      if (name !== undefined && name === before) return;
      context.report({ node, message: `"${name}" is exported: say in a docstring what it is` });
    },
  }),
};
