/**
 * The globals of Node.js that the engine, the world and their packages use, for a browser. Imported before anything
 * else.
 *
 * `setImmediate` makes each callback a task of its own, over a message port: the browser runs all promise reactions
 * between two tasks, as Node.js does between two callbacks. The world's driver relies on nothing else.
 */
import { Buffer } from './buffer.ts';

type Task = () => void;
type Listener = (reason: unknown) => void;
interface Rejection {
  readonly reason: unknown;
  preventDefault(): void;
}
type Scope = typeof globalThis & {
  addEventListener(name: 'unhandledrejection', listener: (event: Rejection) => void): void;
};

const tasks: Task[] = [];
let taken = 0;
const { port1, port2 } = new MessageChannel();
const takeTask = (): void => {
  const task = tasks[taken];
  taken += 1;
  if (taken === tasks.length || taken > 65_536) {
    tasks.splice(0, taken);
    taken = 0;
  }
  task?.();
};
Reflect.set(port1, 'onmessage', takeTask);

function setImmediate<Args extends unknown[]>(callback: (...args: Args) => void, ...args: Args): void {
  tasks.push(() => callback(...args));
  port2.postMessage(null);
}

const unhandled = new Set<Listener>();
(globalThis as Scope).addEventListener('unhandledrejection', (event) => {
  for (const listener of unhandled) listener(event.reason);
  if (unhandled.size > 0) event.preventDefault();
});

const process = {
  env: {},
  argv: [],
  version: 'v20.19.0',
  versions: {},
  platform: 'browser',
  pid: 1,
  on: (_name: string, listener: Listener): void => void unhandled.add(listener),
  removeListener: (_name: string, listener: Listener): void => void unhandled.delete(listener),
  cwd: (): string => '/',
  uptime: (): number => 0,
};

Object.assign(globalThis, { global: globalThis, Buffer, setImmediate, process });
