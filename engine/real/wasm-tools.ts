/**
 * The Wasm tools on a machine: reads the operator's files, and runs wabt in a separate thread for each text. wabt can
 * loop for ever and can corrupt its own instance, so it shares nothing with the node. A thread that takes too long is
 * terminated, and no thread is reused. Texts are compiled one after another.
 */
import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';

import { LockstepError } from '../base/errors.ts';
import type { WasmTools } from '../io/wasm-tools.ts';
import { watMessageCharsMax } from '../io/wasm-tools.ts';

/** The thread's reply. */
type Reply =
  { readonly ok: true; readonly bytes: Uint8Array } | { readonly ok: false; readonly message: string };

/** Kept as text so that it runs from the sources as well as from the build. */
const workerText = `
const { parentPort, workerData } = require('node:worker_threads');
require(workerData.wabt)()
  .then((wabt) => {
    const parsed = wabt.parseWat('module.wat', workerData.text);
    parsed.validate();
    const { buffer } = parsed.toBinary({});
    parentPort.postMessage({ ok: true, bytes: buffer });
  })
  .catch((error) => parentPort.postMessage({ ok: false, message: String(error && error.message) }));
`;

const heapMebibytesMax = 256;

/** Makes the tools; relative paths start at `directory`. */
export function createRealWasmTools(directory: string): WasmTools {
  let tail: Promise<unknown> = Promise.resolve();
  return {
    readFile: (path, bytesMax) => readAtMost(resolve(directory, path), bytesMax),
    compileText: (text, timeoutUs) => {
      const done = tail.then(() => compile(text, Math.max(1, Math.ceil(timeoutUs / 1000))));
      tail = done.catch(() => undefined);
      return done;
    },
  };
}

async function readAtMost(path: string, bytesMax: number): Promise<Uint8Array> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      if (size > bytesMax) {
        throw new LockstepError('TooLarge', `the file has ${size} bytes; allowed: at most ${bytesMax}`);
      }
      // The file may grow meanwhile, and a device has no size.
      const bytes = Buffer.alloc(bytesMax + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read)
        read = (await file.read(bytes, length, bytes.length - length)).bytesRead;
      if (length > bytesMax)
        throw new LockstepError(
          'TooLarge',
          `the file has more than ${bytesMax} bytes; allowed: at most that`,
        );
      return Uint8Array.prototype.slice.call(bytes, 0, length);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof LockstepError) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') throw new LockstepError('NotFound', 'there is no such file');
    const said = error instanceof Error ? error.message : String(error);
    throw new LockstepError('StorageFailed', `it cannot be read: ${said}`);
  }
}

async function compile(text: string, timeoutMs: number): Promise<Uint8Array> {
  const wabt = createRequire(import.meta.url).resolve('wabt');
  const worker = new Worker(workerText, {
    eval: true,
    workerData: { wabt, text },
    resourceLimits: { maxOldGenerationSizeMb: heapMebibytesMax },
  });
  try {
    const reply = await firstReply(worker, timeoutMs);
    if (reply.ok) return reply.bytes;
    throw new LockstepError(
      'BadRequest',
      `the text does not compile: ${reply.message.slice(0, watMessageCharsMax)}`,
    );
  } finally {
    await worker.terminate();
  }
}

function firstReply(worker: Worker, timeoutMs: number): Promise<Reply> {
  return new Promise((resolveReply, reject) => {
    const deadline = setTimeout(() => {
      reject(new LockstepError('Timeout', `compiling the text took longer than ${timeoutMs} ms`));
    }, timeoutMs);
    const settle = (act: () => void): void => {
      clearTimeout(deadline);
      act();
    };
    worker.once('message', (reply: Reply) => settle(() => resolveReply(reply)));
    worker.once('error', (error) => {
      settle(() => reject(new LockstepError('BadRequest', `the text does not compile: ${error.message}`)));
    });
    worker.once('exit', () => {
      settle(() =>
        reject(new LockstepError('BadRequest', 'the text does not compile: its compiler gave up')),
      );
    });
  });
}
