/** Asks the node that serves this page. Nothing else is ever asked. */

/** The node answered with an error: its code, and its text for people. */
export class NodeError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** How long an answer may take, in milliseconds; a listing or a survey of members may take longer. */
const answerMsMax = 5000;

/** The JSON at a path. Rejects with `NodeError`, or with another error if the node does not answer. */
export async function getJson<T>(path: string, msMax: number = answerMsMax): Promise<T> {
  return (await ask('GET', path, undefined, msMax)) as T;
}

/** Sends an action. Rejects as `getJson` does. */
export async function act(path: string, body?: object): Promise<void> {
  await ask('POST', path, body, 30_000);
}

async function ask(method: string, path: string, body: object | undefined, msMax: number): Promise<unknown> {
  const response = await fetch(path, {
    method,
    cache: 'no-store',
    signal: AbortSignal.timeout(msMax),
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
  });
  const text = await response.text();
  if (!response.ok) throw new NodeError(response.status, errorText(response.status, text));
  return text === '' ? undefined : JSON.parse(text);
}

function errorText(status: number, text: string): string {
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: unknown };
    if (typeof detail === 'string') return detail;
  } catch {
    // An answer of something between the node and the browser: its status is all there is.
  }
  return `the answer has the status ${status}`;
}

/** What to show of a failure. */
export function failureText(error: unknown): string {
  if (error instanceof NodeError) return error.message;
  return 'this node does not answer';
}
