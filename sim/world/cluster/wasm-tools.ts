/**
 * The Wasm tools of an incarnation: the files that the world was created with, and wabt if it has one. Both answer in a
 * separate event.
 */
import { Deferred } from '../../../engine/base/deferred.ts';
import { LockstepError, asLockstepError } from '../../../engine/base/errors.ts';
import type { WasmTools } from '../../../engine/io/wasm-tools.ts';
import { watMessageCharsMax } from '../../../engine/io/wasm-tools.ts';
import type { Incarnation } from './incarnation.ts';
import type { WasmSupplies } from './wasm-supplies.ts';

const readUs = 300;
const compileUs = 40_000;

/** The port for Wasm tools of one incarnation. */
export class IncarnationWasmTools implements WasmTools {
  readonly #life: Incarnation;

  constructor(life: Incarnation) {
    this.#life = life;
  }

  readFile(path: string, bytesMax: number): Promise<Uint8Array> {
    return this.#later(readUs, ({ files }) => {
      const bytes = files.get(path);
      if (bytes === undefined) throw new LockstepError('NotFound', 'there is no such file');
      if (bytes.length <= bytesMax) return Uint8Array.from(bytes);
      throw new LockstepError('TooLarge', `the file has ${bytes.length} bytes; allowed: at most ${bytesMax}`);
    });
  }

  compileText(text: string): Promise<Uint8Array> {
    return this.#later(compileUs, ({ toolkit }) => {
      if (toolkit === undefined) throw new LockstepError('BadRequest', 'this world has no compiler of texts');
      try {
        const parsed = toolkit.parseWat('module.wat', text);
        parsed.validate();
        const { buffer } = parsed.toBinary({});
        parsed.destroy();
        return Uint8Array.from(buffer);
      } catch (error) {
        const said = error instanceof Error ? error.message : String(error);
        throw new LockstepError(
          'BadRequest',
          `the text does not compile: ${said.slice(0, watMessageCharsMax)}`,
        );
      }
    });
  }

  #later(us: number, act: (supplies: WasmSupplies) => Uint8Array): Promise<Uint8Array> {
    if (!this.#life.awake()) return this.#life.silence();
    const done = new Deferred<Uint8Array>();
    this.#life.later(us, () => {
      try {
        done.resolve(act(this.#life.ground.wasm));
      } catch (error) {
        done.reject(asLockstepError(error));
      }
    });
    return done.promise;
  }
}
