/** Paints what lies on the lanes: the axis, bands of faults, outages, operations of clients, and marks. */
import type { Band, Mark, MarkKind } from '../../sim/record/recording.ts';
import type { Geometry, View } from './geometry.ts';
import type { Filter, Model } from './model.ts';
import type { Palette } from './style.ts';

/** Everything that painting needs. */
export interface Scene {
  readonly context: CanvasRenderingContext2D;
  readonly geometry: Geometry;
  readonly model: Model;
  readonly filter: Filter;
  readonly palette: Palette;
  readonly view: View;
  readonly cursorUs: number;
}

const font = '12px system-ui, sans-serif';
const smallFont = '11px system-ui, sans-serif';

/**
 * Bands of faults over the lanes that they strike. A fault of the network is hatched: between the two lanes of a link,
 * or over lanes that it parts from all others; its label names both sides.
 */
export function paintBands(scene: Scene): void {
  const { context, geometry, model, filter } = scene;
  const { laneY, x, gutter, width } = geometry;
  context.font = smallFont;
  for (const band of model.recording.bands) {
    const left = Math.max(gutter, x(band.fromUs));
    const right = Math.min(width, Math.max(x(band.toUs), x(band.fromUs) + 3));
    if (right <= gutter || left >= width) continue;
    context.globalAlpha = filter.fault === '' || filter.fault === band.fault ? 1 : 0.25;
    const label = `${band.fault}${sidesOf(band, model)} ${band.kind}`;
    const ys = band.lanes.map((lane) => laneY[lane]).filter((y) => y !== undefined);
    if (band.links === 'between' && ys.length === 2) {
      const top = Math.min(...ys);
      paintBand(scene, { left, right, top, bottom: Math.max(...ys), label, hatched: true });
      continue;
    }
    for (const y of ys) {
      const hatched = band.links !== undefined;
      paintBand(scene, { left, right, top: y - 26, bottom: y + 26, label, hatched });
    }
  }
  context.globalAlpha = 1;
}

interface PaintedBand {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly label: string;
  readonly hatched: boolean;
}

/** Pixels between the strokes of a hatching. */
const hatchStep = 9;

function paintBand(
  { context, palette }: Scene,
  { left, right, top, bottom, label, hatched }: PaintedBand,
): void {
  const [width, height] = [right - left, bottom - top];
  context.fillStyle = palette.band;
  context.fillRect(left, top, width, height);
  if (hatched) {
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.strokeStyle = palette.warn;
    context.lineWidth = 0.7;
    context.beginPath();
    for (let at = left - height; at < right; at += hatchStep) {
      context.moveTo(at, bottom);
      context.lineTo(at + height, top);
    }
    context.stroke();
    context.restore();
    context.strokeStyle = palette.warn;
    context.lineWidth = 1;
    context.setLineDash([6, 3]);
    context.strokeRect(left, top, width, height);
    context.setLineDash([]);
  }
  if (width < 60) return;
  const text = cut(context, label, width - 14);
  if (hatched) {
    context.fillStyle = palette.surface;
    context.fillRect(left + 8, top + 1, context.measureText(text).width + 4, 14);
  }
  context.fillStyle = palette.ink;
  context.fillText(text, left + 10, top + 11);
}

/** Between whom a fault of the network lies: ` n1 – n2`, or ` n1 | n2 n3`; empty for other faults. */
export function sidesOf({ lanes, links }: Band, { recording }: Pick<Model, 'recording'>): string {
  const nameOf = (lane: number): string => recording.lanes[lane]?.name ?? '';
  if (links === undefined) return '';
  if (links === 'between') return ` ${lanes.map(nameOf).join(' – ')}`;
  const others = recording.lanes.flatMap(({ name, kind }, lane) =>
    kind === 'node' && !lanes.includes(lane) ? [name] : [],
  );
  return ` ${lanes.map(nameOf).join(' ')} | ${others.join(' ')}`;
}

/** The axis and the names of the lanes; over everything else, so that the gutter stays readable. */
export function paintLanes(scene: Scene): void {
  const { context, geometry, model, palette } = scene;
  const { laneY, gutter, width, height, axisY, x } = geometry;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, gutter - 4, height);
  context.fillRect(0, 0, width, axisY);
  context.font = font;
  for (const [lane, { name, kind }] of model.recording.lanes.entries()) {
    const y = laneY[lane];
    if (y === undefined) continue;
    context.fillStyle = kind === 'node' ? palette.ink : palette.muted;
    context.font = kind === 'node' ? `600 13px system-ui, sans-serif` : font;
    context.fillText(cut(context, name, gutter - 14), 8, y + 4);
  }
  context.font = smallFont;
  context.fillStyle = palette.muted;
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.beginPath();
  for (const us of ticks(scene.view, (width - gutter) / 110)) {
    const at = x(us);
    context.moveTo(at, axisY - 5);
    context.lineTo(at, axisY);
    const label = tickLabel(us, scene.view);
    if (at + context.measureText(label).width < width) context.fillText(label, at + 3, axisY - 10);
  }
  context.moveTo(gutter, axisY);
  context.lineTo(width, axisY);
  context.stroke();
}

/** Client operations as bars: ok filled, failed hollow, unknown dashed. Then the life lines of all hosts. */
export function paintOperations(scene: Scene): void {
  paintLifeLines(scene);
  const { context, geometry, model, filter, palette, view, cursorUs } = scene;
  const { laneY, x } = geometry;
  const concerned = new Set(model.recording.concern?.operations ?? []);
  context.font = smallFont;
  for (const [index, one] of model.recording.operations.entries()) {
    const y = laneY[one.lane];
    const endUs = one.completedUs < 0 ? model.endUs : one.completedUs;
    if (y === undefined || endUs < view.fromUs || one.invokedUs > view.toUs) continue;
    if (!model.isAbout(one.about, filter)) continue;
    const about = one.about.some((subject) => model.concerned.has(subject));
    const dim = filter.cone !== 'off' && model.recording.concern !== undefined && !about;
    context.globalAlpha = dim || one.invokedUs > cursorUs ? 0.25 : 1;
    const left = x(one.invokedUs);
    const width = Math.max(2, x(endUs) - left);
    const colour = { ok: palette.good, fail: palette.bad, unknown: palette.warn }[one.outcome];
    context.strokeStyle = colour;
    context.fillStyle = colour;
    context.lineWidth = 1.5;
    context.setLineDash(one.outcome === 'unknown' ? [3, 2] : []);
    if (one.outcome === 'ok') context.fillRect(left, y - 6, width, 12);
    else context.strokeRect(left, y - 6, width, 12);
    context.setLineDash([]);
    if (concerned.has(index)) {
      context.strokeStyle = palette.bad;
      context.strokeRect(left - 2, y - 9, width + 4, 18);
    }
    if (width > 70 && one.outcome !== 'ok')
      context.fillText(cut(context, one.text, width - 8), left + 4, y + 4);
  }
  context.globalAlpha = 1;
}

function paintLifeLines({ context, geometry, model, palette }: Scene): void {
  const { laneY, x, gutter, width } = geometry;
  context.strokeStyle = palette.line;
  context.lineWidth = 1.5;
  context.beginPath();
  for (const y of laneY) {
    if (y === undefined) continue;
    context.moveTo(gutter, y);
    context.lineTo(width, y);
  }
  context.stroke();
  for (const { lane, fromUs, toUs, kind } of model.outages) {
    const y = laneY[lane];
    if (y === undefined) continue;
    const [left, right] = [Math.max(gutter, x(fromUs)), Math.min(width, x(toUs))];
    if (right < gutter || left > width) continue;
    context.fillStyle = palette.surface;
    context.fillRect(left, y - 3, right - left, 6);
    context.strokeStyle = kind === 'down' ? palette.bad : palette.warn;
    context.setLineDash(kind === 'down' ? [2, 5] : [6, 3]);
    context.beginPath();
    context.moveTo(left, y);
    context.lineTo(right, y);
    context.stroke();
    context.setLineDash([]);
  }
}

const bigKinds: readonly MarkKind[] = ['crash', 'start', 'stop', 'pause', 'resume', 'fault', 'ring'];

/** Marks: small ticks for syncs, logs and steps, drawn signs for what befalls a host. */
export function paintMarks(scene: Scene): void {
  const { context, model, filter, palette, view, cursorUs } = scene;
  const spanUs = view.toUs - view.fromUs;
  const small: Mark[] = [];
  const dimmed: Mark[] = [];
  const { from, to } = model.markTimes.within(view.fromUs, view.toUs);
  for (const mark of model.recording.marks.slice(from, to)) {
    if (bigKinds.includes(mark.kind)) {
      context.globalAlpha = model.dimsMark(mark, filter) || mark.atUs > cursorUs ? 0.3 : 1;
      paintSign(scene, mark);
      continue;
    }
    if (!model.isAbout(mark.about, filter)) continue;
    if (model.dimsMark(mark, filter) || mark.atUs > cursorUs) dimmed.push(mark);
    else small.push(mark);
  }
  context.globalAlpha = 0.2;
  paintTicks(scene, dimmed, palette.muted);
  context.globalAlpha = 1;
  paintTicks(scene, small, palette.ink);
  if (spanUs < 60_000) paintStepNames(scene, small);
}

function paintTicks(
  { context, geometry: { laneY, x } }: Scene,
  marks: readonly Mark[],
  colour: string,
): void {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  const drawn = new Set<number>();
  for (const { lane, atUs, kind } of marks) {
    const y = laneY[lane];
    if (y === undefined) continue;
    const at = x(atUs);
    const place = (Math.round(at) * 128 + lane) * 3 + (kind === 'sync' ? 0 : kind === 'step' ? 1 : 2);
    if (drawn.has(place)) continue;
    drawn.add(place);
    const [up, down] = kind === 'sync' ? [0, 7] : kind === 'step' ? [8, 0] : [4, 4];
    context.moveTo(at, y - up);
    context.lineTo(at, y + down);
  }
  context.stroke();
}

/** Names of transaction steps, where they do not overlap. */
function paintStepNames({ context, geometry: { laneY, x }, palette }: Scene, marks: readonly Mark[]): void {
  const takenTo = new Map<number, number>();
  context.font = '10px system-ui, sans-serif';
  context.fillStyle = palette.muted;
  for (const { lane, atUs, kind, text } of marks) {
    const y = laneY[lane];
    if (kind !== 'step' || y === undefined) continue;
    const [name = ''] = text.replace('xa.', '').split(' ', 1);
    const at = x(atUs) + 2;
    if (at < (takenTo.get(lane) ?? 0)) continue;
    takenTo.set(lane, at + context.measureText(name).width + 6);
    context.fillText(name, at, y - 10);
  }
}

/** A sign for what befalls a host: a cross for a crash, a triangle for a start, a bolt for a fault. */
function paintSign({ context, geometry: { laneY, x }, palette }: Scene, { lane, atUs, kind }: Mark): void {
  const y = laneY[lane];
  if (y === undefined) return;
  const at = x(atUs);
  context.lineWidth = 2.2;
  context.beginPath();
  if (kind === 'crash') {
    context.strokeStyle = palette.bad;
    context.moveTo(at - 6, y - 6);
    context.lineTo(at + 6, y + 6);
    context.moveTo(at + 6, y - 6);
    context.lineTo(at - 6, y + 6);
    context.stroke();
    return;
  }
  if (kind === 'start' || kind === 'resume') {
    context.fillStyle = palette.good;
    context.moveTo(at - 4, y - 6);
    context.lineTo(at + 6, y);
    context.lineTo(at - 4, y + 6);
    context.fill();
    return;
  }
  if (kind === 'fault') {
    context.fillStyle = palette.bad;
    context.moveTo(at + 2, y - 27);
    context.lineTo(at - 4, y - 17);
    context.lineTo(at, y - 17);
    context.lineTo(at - 2, y - 9);
    context.lineTo(at + 5, y - 20);
    context.lineTo(at + 1, y - 20);
    context.fill();
    return;
  }
  context.fillStyle = kind === 'ring' ? palette.accent : palette.warn;
  if (kind === 'ring') context.arc(at, y + 12, 3, 0, 7);
  else context.rect(at - 4, y - 5, 8, 10);
  context.fill();
}

/** Round instants for the axis. */
function ticks({ fromUs, toUs }: View, wanted: number): readonly number[] {
  const rough = (toUs - fromUs) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  const found: number[] = [];
  for (let us = Math.ceil(fromUs / step) * step; us <= toUs; us += step) found.push(us);
  return found;
}

function tickLabel(us: number, { fromUs, toUs }: View): string {
  const span = toUs - fromUs;
  const digits = span > 20_000_000 ? 0 : span > 2_000_000 ? 1 : span > 200_000 ? 2 : span > 2000 ? 4 : 6;
  return `${(us / 1_000_000).toFixed(digits)} s`;
}

function cut(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width)
    length = Math.floor(length * 0.8);
  return `${text.slice(0, length)}…`;
}
