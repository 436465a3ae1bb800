/** Compiles a file and its imports to JavaScript, so that a test can run it in a separate process. */
import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const root = resolve(import.meta.dirname, '../..');

/**
 * Compiles `file` (a path inside the project) into `directory`, under the same path with `.js`, and links node_modules
 * there.
 */
export async function compileModule(file: string, directory: string): Promise<void> {
  const options = { rootDir: root, outDir: directory, noCheck: true, declaration: false, types: [] };
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: options,
    files: [join(root, file)],
  };
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }');
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(config));
  await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
  const compiler = join(root, 'node_modules/typescript7/bin/tsc');
  await promisify(execFile)(process.execPath, [compiler, '-p', join(directory, 'tsconfig.json')]);
}
