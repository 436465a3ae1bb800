/**
 * An unauthenticated client that sends bytes which no real client would send, and records how the node reacts. Each
 * burst has a connection of its own.
 */
import { Deferred } from '../../engine/base/deferred.ts';
import { messages } from '../../engine/api/pbc/schema.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Address, Connection } from '../../engine/io/network.ts';
import type { Random } from '../../engine/io/random.ts';
import type { MalformedInputRecord } from '../check/protocols/malformed-input.ts';
import type { MalformedInputForm, PlanMalformedInput } from '../plan/plan.ts';

const connectTimeoutUs = 1_000_000;

/**
 * How long a burst waits for an answer or the end of the connection, not counting the time while the node is paused.
 */
const patienceUs = 3_000_000;
/** How often the client checks whether the node is paused. */
const lookUs = 100_000;

const codeThatNobodyServes = 251;

/**
 * Connects, sends one burst, and reports how it ended. `life` names the node's current incarnation, '' if it is down.
 * `still`: the process is paused, while its kernel still accepts connections and bytes.
 */
export async function sendMalformedInput(
  burst: PlanMalformedInput,
  io: Io,
  address: Address,
  nowUs: () => number,
  life: () => string,
  still: () => boolean,
): Promise<MalformedInputRecord> {
  const bytes = malformedBytes(burst, io.random.fork(burst.id));
  const before = life();
  const ended = await send(io, address, bytes, burst.form === 'truncated', still);
  // A node that crashed in between owes no answer.
  const disturbed = before === '' || life() !== before;
  return {
    id: burst.id,
    node: burst.node,
    listener: burst.listener,
    form: burst.form,
    sentBytes: bytes.length,
    atUs: nowUs(),
    outcome: ended === 'open' && disturbed ? 'lost' : ended,
    hopeless: burst.form === 'truncated' || (burst.listener === 'pb' && burst.form !== 'random'),
  };
}

/** The bytes of a burst: the head that its form demands, then random bytes. */
export function malformedBytes(
  { form, bytes }: Pick<PlanMalformedInput, 'form' | 'bytes'>,
  random: Random,
): Buffer {
  const noise = random.bytes(bytes);
  return Buffer.concat([headOf(form, noise.length), noise]);
}

function headOf(form: MalformedInputForm, noiseBytes: number): Buffer {
  switch (form) {
    case 'random':
      return Buffer.alloc(0);
    case 'oversized':
      return frameHead(0xffffffff, messages.putReq.code);
    case 'truncated':
      return frameHead(noiseBytes + 100, messages.putReq.code);
    case 'unknown-code':
      return frameHead(noiseBytes + 1, codeThatNobodyServes);
    case 'corrupt-body':
      // Field 1 claims more bytes than the frame has: invalid as a message of any kind.
      return Buffer.concat([
        frameHead(noiseBytes + 7, messages.getReq.code),
        Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x07]),
      ]);
  }
}

function frameHead(length: number, code: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 0);
  head.writeUInt8(code, 4);
  return head;
}

async function send(
  io: Io,
  address: Address,
  bytes: Buffer,
  half: boolean,
  still: () => boolean,
): Promise<MalformedInputRecord['outcome']> {
  let connection: Connection;
  try {
    connection = await io.network.connect(address, connectTimeoutUs);
  } catch {
    // The node refuses or is silent: no incarnation received the burst.
    return 'lost';
  }
  const ended = new Deferred<MalformedInputRecord['outcome']>();
  connection.start({
    onData: () => ended.resolve('closed'),
    onDrain: () => {
      // The burst is one write.
    },
    onEnd: () => ended.resolve('closed'),
    onClose: () => ended.resolve('closed'),
  });
  connection.write(bytes);
  if (half) connection.end();
  let leftUs = patienceUs;
  const look = (): void => {
    if (!still()) leftUs -= lookUs;
    if (leftUs > 0) next = io.clock.after(lookUs, look);
    else ended.resolve('open');
  };
  let next = io.clock.after(lookUs, look);
  const outcome = await ended.promise;
  next.cancel();
  connection.destroy();
  return outcome;
}
