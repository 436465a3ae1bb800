/**
 * Loads the files of the bundle (`.ci/bundle.js`) with what V8 has compiled of them before. Node.js 20 compiles modules
 * anew at every start, which is a third of the time until a node serves. The build starts a node once and stores the
 * compiled code beside the bundle, in a directory for this version of V8, its flags and the processor's features.
 * Elsewhere, and if V8 refuses what is stored, the files are compiled as usual.
 *
 * The files are CommonJS and plain ASCII. Their `import()` is a function that they are given: V8 forgets, of code that it
 * takes as compiled, who may import for it. What is stored is code: it belongs to the build, as the bundle does, and a
 * running node never writes it.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cachedDataVersionTag } from 'node:v8';
import { Script } from 'node:vm';

type ModuleFunction = (
  exports: object,
  require: (id: string) => unknown,
  module: { exports: object },
  filename: string,
  directory: string,
  importModule: (id: string) => Promise<object>,
) => void;

/** The files of one bundle, each loaded once. */
export class BundledCode {
  readonly #directory: string;
  readonly #compiled: string;
  readonly #require: NodeJS.Require;
  readonly #modules = new Map<string, { exports: object }>();
  readonly #scripts = new Map<string, Script>();
  #refused = 0;

  /** `directory`: where the bundle is. */
  constructor(directory: string) {
    this.#directory = directory;
    this.#compiled = join(directory, `compiled-${cachedDataVersionTag().toString(16)}`);
    this.#require = createRequire(join(directory, 'bundle.cjs'));
  }

  /** How many of the loaded files had no compiled code that V8 took. */
  get compiledNow(): number {
    return this.#refused;
  }

  /** What the file exports. Throws what Node.js throws for a file that is missing or wrong. */
  load(file: string): object {
    const known = this.#modules.get(file);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    this.#modules.set(file, module);
    const path = join(this.#directory, file);
    const evaluate = this.#scriptOf(file, path).runInThisContext() as ModuleFunction;
    const require = (id: string): unknown =>
      id.startsWith('./') ? this.load(id.slice(2)) : this.#require(id);
    evaluate(module.exports, require, module, path, dirname(path), (id) => this.#import(id));
    return module.exports;
  }

  /** Stores what V8 has compiled of the loaded files until now, with the functions that have run. Only the build does so. */
  save(): void {
    mkdirSync(this.#compiled, { recursive: true });
    for (const [file, script] of this.#scripts)
      writeFileSync(join(this.#compiled, file), script.createCachedData());
  }

  /** `import(id)` in a file. `id`: a package, a module of Node.js, or the URL of a module. */
  async #import(id: string): Promise<object> {
    const isWhole = id.startsWith('file:') || isBuiltin(id);
    return (await import(isWhole ? id : pathToFileURL(this.#require.resolve(id)).href)) as object;
  }

  #scriptOf(file: string, path: string): Script {
    const cachedData = this.#stored(file);
    const text = readFileSync(path, 'latin1');
    const script = new Script(
      `(function(exports,require,module,__filename,__dirname,importModule){${text}\n})`,
      {
        filename: path,
        ...(cachedData === undefined ? {} : { cachedData }),
      },
    );
    if (script.cachedDataRejected !== false) this.#refused += 1;
    this.#scripts.set(file, script);
    return script;
  }

  #stored(file: string): Buffer | undefined {
    try {
      return readFileSync(join(this.#compiled, file));
    } catch {
      // Another version of Node.js than the build's, or other flags.
      return undefined;
    }
  }
}
