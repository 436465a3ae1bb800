/**
 * Checks the import rules of .dependency-cruiser.cjs and prints every violation. Fails if the cruiser finds no modules:
 * it reads TypeScript only through a compiler that it knows, and without one it would find nothing to complain about.
 */
import { cruise } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import extractTypeScript from 'dependency-cruiser/config-utl/extract-ts-config';

const rooms = ['engine', 'sim', 'scenarios', 'reports'];

const options = await extractOptions('./.dependency-cruiser.cjs');
const { output } = await cruise(rooms, options, undefined, {
  tsConfig: extractTypeScript('./tsconfig.test.json'),
});
const ours = output.modules.filter(
  ({ source }) => source.endsWith('.ts') && !source.includes('node_modules'),
);
const arrows = ours.reduce((sum, { dependencies }) => sum + dependencies.length, 0);

for (const { from, to, rule, cycle } of output.summary.violations) {
  const comment = output.summary.ruleSetUsed.forbidden.find(({ name }) => name === rule.name)?.comment;
  const way =
    cycle === undefined ? `${from} -> ${to}` : [from, ...cycle.map(({ name }) => name)].join(' -> ');
  console.log(`${way}\n    ${rule.name}: ${comment}`);
}
console.log(`${ours.length} modules, ${arrows} imports, ${output.summary.violations.length} broken arrows`);

if (ours.length === 0 || arrows === 0) {
  console.log('no modules were found: the dependency check has nothing to stand on');
  process.exitCode = 1;
}
if (output.summary.violations.length > 0) process.exitCode = 1;
