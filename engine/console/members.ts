/** The members, who owns the token space, and what moves. */
import type { ConsoleOverview, ConsoleVersions, RingPicture } from '../api/http/console-answers.ts';
import type { MemberView } from '../api/http/cluster-routes.ts';
import { draw, facts, h, table } from './dom.ts';
import { bytesText, countText, durationText, shareText } from './numbers.ts';

/** Nodes by colour: the members' order decides, and colours repeat beyond eight. */
function colourClass(members: readonly MemberView[], node: string): string {
  return `node-${members.findIndex((member) => member.node === node) % 8}`;
}

const goodStates = ['NORMAL', 'JOINING'];

/** A state with its colour; the text says it, too. */
function stateText(state: string): HTMLElement {
  const kind =
    state === 'NORMAL' ? 'good' : goodStates.includes(state) || state === 'STANDBY' ? 'warn' : 'bad';
  return h('span', { class: `state ${kind}` }, state);
}

/** The table of members. */
export function membersTable(
  { node, cluster: { members } }: ConsoleOverview,
  versions: ConsoleVersions | undefined,
): readonly HTMLElement[] {
  const rows = members.map((member) => {
    const spoken = versions?.members.find((one) => one.node === member.node);
    return [
      h(
        'span',
        {},
        h('i', { class: `swatch ${colourClass(members, member.node)}`, 'aria-hidden': 'true' }),
        member.node === node ? `${member.node} (this node)` : member.node,
      ),
      stateText(member.state),
      `${member.datacenter} / ${member.rack}`,
      h('code', {}, member.address),
      member.owns ? shareText(member.share) : 'none',
      member.move === 'none' || member.move === '' ? '–' : member.move,
      spokenText(spoken),
    ];
  });
  const heads = [
    'Node',
    'State',
    'Datacenter / rack',
    'Address',
    'Share of its rack',
    'Ring change',
    'Speaks',
  ];
  return [table('Members of the cluster, as this node knows them', heads, rows)];
}

function spokenText(version: ConsoleVersions['members'][number] | undefined): string {
  if (version === undefined) return '…';
  return version.reached ? `messages ${version.max ?? '?'}` : 'does not answer';
}

const size = 260;
const innermost = 44;

/** Who owns which tokens: one circle per rack, from the inside out, the token 0 at the top. */
export function ringPicture({ cluster: { members }, ring }: ConsoleOverview): readonly HTMLElement[] {
  const width = Math.min(26, (size / 2 - innermost) / Math.max(1, ring.racks.length));
  const drawing = draw(
    'svg',
    { viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': ringLabel(ring), class: 'ring' },
    ...ring.racks.flatMap((rack, index) => {
      const radius = innermost + (index + 0.5) * width;
      let slot = 0;
      return rack.runs.map(([node, slots]) => {
        const from = slot;
        slot += slots;
        const title = `${node} owns ${((100 * slots) / ring.slots).toFixed(1)} % here (${rack.datacenter} / ${rack.rack})`;
        const path = arc(radius, from / ring.slots, slot / ring.slots);
        return draw(
          'path',
          { d: path, 'stroke-width': String(width - 3), class: `arc ${colourClass(members, node)}` },
          draw('title', {}, title),
        );
      });
    }),
  );
  const racks = ring.racks.map(({ datacenter, rack, runs }, index) => {
    const nodes = [...new Set(runs.map(([node]) => node))];
    const place = ring.racks.length === 1 ? '' : index === 0 ? ', innermost' : '';
    return h(
      'li',
      {},
      h('strong', {}, `${datacenter} / ${rack}${place}`),
      h('ul', {}, ...nodes.map((node) => legendOf(members, node))),
    );
  });
  return [h('div', { class: 'beside' }, drawing, h('ul', { class: 'legend' }, ...racks))];
}

function legendOf(members: readonly MemberView[], node: string): HTMLElement {
  const share = members.find((member) => member.node === node)?.share ?? 0;
  const swatch = h('i', { class: `swatch ${colourClass(members, node)}`, 'aria-hidden': 'true' });
  return h('li', {}, swatch, `${node} ${shareText(share)}`);
}

function ringLabel({ racks }: RingPicture): string {
  const lines = racks.map(({ datacenter, rack, runs }) => {
    return `${datacenter} / ${rack}: ${[...new Set(runs.map(([node]) => node))].join(', ')}`;
  });
  return `Who owns the token space. ${lines.join('; ')}. The members' table has the shares.`;
}

/** An arc between two shares of the circle; a whole circle is drawn as two halves. */
function arc(radius: number, from: number, to: number): string {
  if (to - from > 0.999) return `${arc(radius, 0, 0.5)} ${arc(radius, 0.5, 1)}`;
  const [startX, startY] = pointAt(radius, from);
  const [endX, endY] = pointAt(radius, to);
  const large = to - from > 0.5 ? 1 : 0;
  return `M ${startX} ${startY} A ${radius} ${radius} 0 ${large} 1 ${endX} ${endY}`;
}

function pointAt(radius: number, share: number): readonly [string, string] {
  const angle = 2 * Math.PI * share - Math.PI / 2;
  const at = (turn: number): string => (size / 2 + radius * turn).toFixed(2);
  return [at(Math.cos(angle)), at(Math.sin(angle))];
}

/** The ring change or rebuild of this node, and the changes of the others. */
export function movesList({ node, cluster }: ConsoleOverview): readonly HTMLElement[] {
  const { transfer, held, members, view, refused = [] } = cluster;
  const moving = members.filter(({ move }) => move !== 'none' && move !== '');
  const shown: HTMLElement[] = [];
  if (moving.length === 0 && transfer.ranges_left === 0) {
    shown.push(h('p', {}, 'Nothing moves: no member joins, leaves or takes over.'));
  }
  if (moving.length > 0) {
    const items = moving.map((member) => h('li', {}, `${member.node}: ${member.move} (${member.state})`));
    shown.push(h('ul', {}, ...items));
  }
  if (transfer.ranges > 0) {
    const done = transfer.ranges - transfer.ranges_left;
    const label = `Ranges that ${node} has taken over`;
    shown.push(
      h(
        'p',
        {},
        `${done} of ${transfer.ranges} ranges `,
        h('progress', { max: String(transfer.ranges), value: String(done), 'aria-label': label }),
      ),
    );
  }
  const { waits_for: waits } = transfer;
  const waiting = [
    ...waits.members,
    ...(waits.transactions > 0 ? [`${waits.transactions} transactions`] : []),
    ...(waits.hints > 0 ? [`${waits.hints} hints`] : []),
  ];
  shown.push(
    facts([
      ['Came here', `${countText(transfer.keys_in)} keys, ${bytesText(transfer.bytes_in)}`],
      ['Went away', `${countText(transfer.keys_out)} keys, ${bytesText(transfer.bytes_out)}`],
      ['Waits for', waiting.length === 0 ? 'nothing' : waiting.join(', ')],
      ['Ring view', h('code', {}, view)],
      ...refused.map(({ node: peer, detail }) => [`No connection to ${peer}`, detail] as const),
      ...(held.seconds > 0
        ? ([
            ['New ring held back', `${durationText(held.seconds)}, by ${held.transactions.join(', ')}`],
          ] as const)
        : []),
    ]),
  );
  return shown;
}
