/**
 * The messages that the commands of one step publish. They are noted while the commands are applied, and published once
 * the step has succeeded: a transaction that conflicts is applied again, and a script that fails leaves nothing.
 */
import type { Message } from './message.ts';

/** A message to publish. `step`: the index of the PUBLISH in its transaction; undefined: a script's. */
export interface Note {
  readonly message: Message;
  readonly step: number | undefined;
}

/** The messages of one step, in order. */
export class Notes {
  readonly list: Note[] = [];
  /** The index of the command that is being applied; undefined: a script. */
  step: number | undefined;
  readonly #subscribersOf: (message: Message) => number;
  readonly #holds: (bytes: number) => void;

  /** `subscribersOf` counts this node's subscriptions; `holds` counts the bytes held, and throws beyond a bound. */
  constructor(subscribersOf: (message: Message) => number, holds: (bytes: number) => void) {
    this.#subscribersOf = subscribersOf;
    this.#holds = holds;
  }

  /** Notes a message. Returns the number of this node's subscriptions that it would go to now. */
  add(message: Message): number {
    this.#holds(message.payload.length + message.channel.length);
    this.list.push({ message, step: this.step });
    return this.#subscribersOf(message);
  }

  /** Remembers the messages noted so far; the function that it returns drops all later ones. */
  save(): () => void {
    const { length } = this.list;
    return () => void this.list.splice(length);
  }
}
