/**
 * Finds the one message whose delay turns the verdict. If the plan passes once a host's messages take the usual time,
 * the delay of some of them decides: `Plan.steadyFrom` makes them usual from one packet on, and halving finds the packet.
 * The two plans at the end differ by the delay of this packet alone.
 */
import type { Plan } from '../plan/plan.ts';
import type { Message, Recording } from './recording.ts';
import { placeOf, seconds } from './places.ts';

/** Most hosts whose messages are tried. */
const hostsMax = 8;
/** No host of a plan that is explained sends so many packets. */
const packetsMax = 200_000;

/** How neighbours are run. */
export interface PacketRuns {
  readonly fails: (plan: Plan) => Promise<boolean>;
  readonly record: (plan: Plan) => Promise<Recording>;
  readonly mayRun: () => boolean;
}

/** The passing plan of the two that differ by one message's delay, and the message in words. */
export interface DecisivePacket {
  readonly plan: Plan;
  readonly line: string;
}

/** Undefined: no host's messages matter, or the time ended. */
export async function decisivePacket(
  failing: Recording,
  runs: PacketRuns,
): Promise<DecisivePacket | undefined> {
  const { plan } = failing;
  for (const host of hostsOf(failing)) {
    if (!runs.mayRun()) return undefined;
    if (await runs.fails(steadyFrom(plan, host, 0))) continue;
    const packet = await turningPacket(plan, host, runs);
    if (packet === undefined) return undefined;
    const [passing, other] = [steadyFrom(plan, host, packet), steadyFrom(plan, host, packet + 1)];
    const [passes, fails] = [await runs.record(passing), await runs.record(other)];
    const line = lineOf(host, fails, passes);
    return line === undefined ? undefined : { plan: passing, line };
  }
  return undefined;
}

/** The hosts whose messages vary: those that the violation names, then the other nodes. */
function hostsOf({ plan, lanes, concern }: Recording): readonly string[] {
  const steady = new Set(plan.steadyHosts);
  const named = (concern?.lanes ?? []).map((lane) => lanes[lane]?.name ?? '');
  const all = new Set([...named, ...plan.nodes.map(({ name }) => name)]);
  return [...all].filter((name) => name !== '' && !steady.has(name)).slice(0, hostsMax);
}

/** The plan passes if the host's packets are steady from this one on, and fails if they are from the next one on. */
async function turningPacket(plan: Plan, host: string, runs: PacketRuns): Promise<number | undefined> {
  let passes = 0;
  let fails = 1;
  for (; fails < packetsMax && runs.mayRun(); fails *= 2) {
    if (await runs.fails(steadyFrom(plan, host, fails))) break;
    passes = fails;
  }
  if (fails >= packetsMax) return undefined;
  while (fails - passes > 1) {
    if (!runs.mayRun()) return undefined;
    const middle = Math.floor((passes + fails) / 2);
    if (await runs.fails(steadyFrom(plan, host, middle))) fails = middle;
    else passes = middle;
  }
  return passes;
}

function steadyFrom(plan: Plan, host: string, packet: number): Plan {
  const others = (plan.steadyFrom ?? []).filter((one) => one.host !== host);
  return { ...plan, steadyFrom: [...others, { host, packet }] };
}

/** Says which message of the host the two runs deliver at different times. */
function lineOf(host: string, fails: Recording, passes: Recording): string | undefined {
  const lane = fails.lanes.findIndex(({ name }) => name === host);
  const mine = (run: Recording): readonly Message[] => run.messages.filter(({ from }) => from === lane);
  const others = mine(passes);
  const at = mine(fails).findIndex(({ arrivedUs }, index) => others[index]?.arrivedUs !== arrivedUs);
  const [message, other] = [mine(fails)[at], others[at]];
  if (message === undefined || other === undefined) return undefined;
  const what = fails.messageKinds[message.kind] ?? 'message';
  const about = message.about.map((subject) => fails.subjects[subject] ?? '').slice(0, 2);
  const of = about.length === 0 ? '' : ` about ${about.join(' and ')}`;
  const when = ({ arrivedUs }: Message): string => (arrivedUs < 0 ? 'never' : `at ${seconds(arrivedUs)}`);
  // A difference that its reader cannot see is chance: every later draw differs with it.
  if (when(message) === when(other)) return undefined;
  return `The order of messages decides: the ${what} that ${host} sends to ${placeOf(fails, message.to)} at ${seconds(message.sentUs)}${of} arrives ${when(message)}; if it arrived ${when(other)}, the promise would be kept.`;
}
