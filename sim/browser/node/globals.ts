/**
 * The globals of Node.js that the engine, the world and their packages use, for a browser. Imported before anything
 * else.
 *
 * `setImmediate` calls each callback from a listener of its own of one message: the browser runs all promise reactions
 * after each listener, since no other script is under way (HTML, "clean up after running script"), as Node.js does
 * between two callbacks. The world's driver relies on nothing else. A message costs many times what a listener does.
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

/** Callbacks that one message runs: a question to the worker waits at most so long. */
const callbacksPerMessage = 128;

const tasks: Task[] = [];
let taken = 0;
/** Whether a message is under way, or its listeners are. */
let posted = false;
const { port1, port2 } = new MessageChannel();

function takeTask(): void {
  const task = tasks[taken];
  if (task === undefined) return;
  taken += 1;
  if (taken === tasks.length || taken > 65_536) {
    tasks.splice(0, taken);
    taken = 0;
  }
  task();
}

for (let count = 0; count < callbacksPerMessage; count++) port1.addEventListener('message', () => takeTask());
port1.addEventListener('message', () => {
  posted = tasks.length > taken;
  if (posted) port2.postMessage(null);
});
port1.start();

function setImmediate<Args extends unknown[]>(callback: (...args: Args) => void, ...args: Args): void {
  tasks.push(args.length === 0 ? callback : () => callback(...args));
  if (posted) return;
  posted = true;
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
