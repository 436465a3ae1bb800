/**
 * The space-time diagram on a canvas: time runs to the right, each host is a lane, messages are arrows between lanes.
 * Draws only what its view holds; asks for one frame at a time.
 */
import type { Message, RecordedOperation } from '../../sim/record/recording.ts';
import type { Geometry, View } from './geometry.ts';
import { paintBands, paintLanes, paintMarks, paintOperations } from './lane-painter.ts';
import { describeMessage } from './model.ts';
import type { Filter, Model } from './model.ts';
import type { Palette } from './style.ts';
import { familyNames, familyOf, readPalette } from './style.ts';

/** What lies under the pointer. */
export interface Hit {
  readonly text: string;
  readonly atUs: number;
  readonly source: 'message' | 'mark' | 'operation' | 'band';
  readonly index: number;
}

const axisHeight = 26;
const nodeHeight = 64;
const otherHeight = 30;
const spanUsMin = 20;
/** A message that takes longer is drawn as delayed, in microseconds. */
const slowUs = 5000;
const linesPerPath = 200;
/** Families of messages, each dim or not, lost or not, slow or not. */
const styleCount = familyNames.length * 8;

/** The drawing of one model. */
export class Diagram {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  #model: Model;
  #filter: Filter;
  #view: View;
  #palette: Palette = readPalette();
  #cursorUs: number;
  #selected: Hit | undefined;
  #asked = false;
  /** Milliseconds that the last frame took to draw. */
  frameMs = 0;

  constructor(canvas: HTMLCanvasElement, model: Model, filter: Filter) {
    const context = canvas.getContext('2d');
    if (context === null) throw new Error('the browser draws on no canvas');
    this.#canvas = canvas;
    this.#context = context;
    this.#model = model;
    this.#filter = filter;
    this.#view = { fromUs: 0, toUs: model.endUs };
    this.#cursorUs = model.endUs;
  }

  get view(): View {
    return this.#view;
  }

  get cursorUs(): number {
    return this.#cursorUs;
  }

  /** Draws another run; keeps the view if it still lies in it. */
  setModel(model: Model): void {
    this.#model = model;
    this.#selected = undefined;
    this.#cursorUs = Math.min(this.#cursorUs, model.endUs);
    this.setView(this.#view);
  }

  setFilter(filter: Filter): void {
    this.#filter = filter;
    this.draw();
  }

  setCursor(us: number): void {
    this.#cursorUs = Math.max(0, Math.min(us, this.#model.endUs));
    this.draw();
  }

  select(hit: Hit | undefined): void {
    this.#selected = hit;
    this.draw();
  }

  /** Shows this part of the run, within its limits. */
  setView({ fromUs, toUs }: View): void {
    const { endUs } = this.#model;
    const span = Math.max(spanUsMin, Math.min(toUs - fromUs, endUs));
    const from = Math.max(0, Math.min(fromUs, endUs - span));
    this.#view = { fromUs: from, toUs: from + span };
    this.draw();
  }

  /** Zooms by a factor around an instant, which stays where it is. */
  zoom(factor: number, aroundUs: number): void {
    const { fromUs, toUs } = this.#view;
    this.setView({
      fromUs: aroundUs - (aroundUs - fromUs) * factor,
      toUs: aroundUs + (toUs - aroundUs) * factor,
    });
  }

  /** Scrolls the view, if need be, so that an instant is in it. */
  reveal(us: number): void {
    const { fromUs, toUs } = this.#view;
    if (us >= fromUs && us <= toUs) return;
    const span = toUs - fromUs;
    this.setView({ fromUs: us - span / 2, toUs: us + span / 2 });
  }

  /** The theme has changed. */
  repaint(): void {
    this.#palette = readPalette();
    this.draw();
  }

  /** Asks for a frame; further calls before it are one. */
  draw(): void {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      this.drawNow();
    });
  }

  /** Draws a frame at once. */
  drawNow(): void {
    const startMs = performance.now();
    const geometry = this.geometry();
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(geometry.width * ratio), Math.round(geometry.height * ratio)];
    this.#canvas.style.height = `${geometry.height}px`;
    if (this.#canvas.width !== width || this.#canvas.height !== height) {
      this.#canvas.width = width;
      this.#canvas.height = height;
    }
    const context = this.#context;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, geometry.width, geometry.height);
    const scene = {
      context,
      geometry,
      model: this.#model,
      filter: this.#filter,
      palette: this.#palette,
      view: this.#view,
      cursorUs: this.#cursorUs,
    };
    paintBands(scene);
    context.save();
    context.beginPath();
    context.rect(geometry.gutter, 0, geometry.width - geometry.gutter, geometry.height);
    context.clip();
    this.#paintMessages(geometry);
    paintOperations(scene);
    paintMarks(scene);
    this.#paintInstants(geometry);
    context.restore();
    paintLanes(scene);
    this.frameMs = performance.now() - startMs;
  }

  geometry(): Geometry {
    const { lanes } = this.#model.recording;
    const width = this.#canvas.clientWidth || 800;
    const gutter = width < 520 ? 52 : 92;
    const { fromUs, toUs } = this.#view;
    let y = axisHeight + 6;
    const laneY = lanes.map(({ kind }, lane) => {
      if (this.#filter.lanes.size > 0 && !this.#filter.lanes.has(lane)) return undefined;
      const own = kind === 'node' ? nodeHeight : otherHeight;
      y += own;
      return y - own / 2;
    });
    const scale = (width - gutter) / (toUs - fromUs);
    return {
      width,
      height: y + 10,
      gutter,
      laneY,
      axisY: axisHeight,
      x: (us) => gutter + (us - fromUs) * scale,
      us: (x) => fromUs + (x - gutter) / scale,
    };
  }

  /** What lies nearest to a point of the canvas, if it is near enough. */
  hitAt(x: number, y: number): Hit | undefined {
    const geometry = this.geometry();
    return (
      this.#hitMark(geometry, x, y) ?? this.#hitOperation(geometry, x, y) ?? this.#hitMessage(geometry, x, y)
    );
  }

  #hitMark({ laneY, x: xOf }: Geometry, x: number, y: number): Hit | undefined {
    const { marks } = this.#model.recording;
    const { fromUs, toUs } = this.#view;
    const { from, to } = this.#model.markTimes.within(fromUs, toUs);
    let best: Hit | undefined;
    let near = 8;
    for (let index = from; index < to; index++) {
      const mark = marks[index];
      const at = mark && laneY[mark.lane];
      if (mark === undefined || at === undefined || Math.abs(y - at) > 13) continue;
      const distance = Math.abs(xOf(mark.atUs) - x) + (mark.kind === 'sync' || mark.kind === 'log' ? 3 : 0);
      if (distance >= near || !this.#model.isAbout(mark.about, this.#filter)) continue;
      near = distance;
      best = { text: mark.text, atUs: mark.atUs, source: 'mark', index };
    }
    return best;
  }

  #hitOperation({ laneY, x: xOf }: Geometry, x: number, y: number): Hit | undefined {
    const { operations } = this.#model.recording;
    const index = operations.findIndex((one) => {
      const at = laneY[one.lane];
      if (at === undefined || Math.abs(y - at) > 9) return false;
      return x >= xOf(one.invokedUs) - 3 && x <= xOf(this.#endOf(one)) + 3;
    });
    const found = operations[index];
    return found && { text: found.text, atUs: found.invokedUs, source: 'operation', index };
  }

  #hitMessage(geometry: Geometry, x: number, y: number): Hit | undefined {
    const { recording } = this.#model;
    let best: number | undefined;
    let near = 6;
    for (const [index, message] of this.#messagesInView()) {
      const line = lineOf(geometry, message);
      if (line === undefined) continue;
      const distance = distanceTo(line, x, y);
      if (distance >= near) continue;
      near = distance;
      best = index;
    }
    const message = best === undefined ? undefined : recording.messages[best];
    if (best === undefined || message === undefined) return undefined;
    return {
      text: describeMessage(recording, message),
      atUs: message.sentUs,
      source: 'message',
      index: best,
    };
  }

  #endOf({ completedUs }: RecordedOperation): number {
    return completedUs < 0 ? this.#model.endUs : completedUs;
  }

  #inView({ sentUs, arrivedUs }: Message): boolean {
    const { fromUs, toUs } = this.#view;
    return sentUs <= toUs && (arrivedUs < 0 ? sentUs : arrivedUs) >= fromUs;
  }

  /** Messages that the filter does not hide. */
  *#messagesInView(): Generator<readonly [number, Message]> {
    const { messages } = this.#model.recording;
    const { from, to } = this.#model.messageTimes.within(this.#view.fromUs, this.#view.toUs);
    for (let index = from; index < to; index++) {
      const message = messages[index];
      if (message === undefined || !this.#inView(message)) continue;
      if (this.#model.strengthOf(index, this.#filter) !== 'hidden') yield [index, message];
    }
  }

  /** Arrows, by style. */
  #paintMessages(geometry: Geometry): void {
    const strokes = new Map<number, Stroke>();
    const drawn = new Set<number>();
    const families = this.#model.recording.messageKinds.map(familyOf);
    for (const [index, message] of this.#messagesInView()) {
      const line = lineOf(geometry, message);
      if (line === undefined) continue;
      const family = families[message.kind] ?? 'other';
      const dim = this.#model.strengthOf(index, this.#filter) === 'dim' || message.sentUs > this.#cursorUs;
      const lost = message.arrivedUs < 0;
      const late = message.arrivedUs - message.sentUs > slowUs || message.again === true;
      const slow = !lost && late;
      const style = familyNames.indexOf(family) * 8 + Number(dim) * 4 + Number(lost) * 2 + Number(slow);
      // Lines that fall on the same pixels are one: a view of a whole run holds thousands of them.
      const place = placeOf(geometry, message, line);
      if (place !== undefined) {
        const name = place * styleCount + style;
        if (drawn.has(name)) continue;
        drawn.add(name);
      }
      let stroke = strokes.get(style);
      if (stroke === undefined) strokes.set(style, (stroke = { family, dim, lost, slow, lines: [] }));
      stroke.lines.push(line);
    }
    this.#nameMessages(geometry);
    const ordered = [...strokes.values()].sort((left, right) => Number(right.dim) - Number(left.dim));
    for (const stroke of ordered) this.#strokeLines(stroke);
    const { source, index } = this.#selected ?? {};
    const chosen =
      source === 'message' && index !== undefined ? this.#model.recording.messages[index] : undefined;
    const line = chosen && lineOf(geometry, chosen);
    if (line === undefined) return;
    this.#context.lineWidth = 3;
    this.#context.strokeStyle = this.#palette.accent;
    this.#context.beginPath();
    trace(this.#context, line, true);
    this.#context.stroke();
  }

  /** Names the messages that are drawn strongly, if they are few, where their names do not overlap. */
  #nameMessages(geometry: Geometry): void {
    const named: (readonly [Message, Line])[] = [];
    for (const [index, message] of this.#messagesInView()) {
      const line = lineOf(geometry, message);
      if (line === undefined || this.#model.strengthOf(index, this.#filter) === 'dim') continue;
      if (named.push([message, line]) > namedMax) return;
    }
    const context = this.#context;
    const taken: { readonly x: number; readonly y: number; readonly width: number }[] = [];
    context.font = '10px system-ui, sans-serif';
    context.fillStyle = this.#palette.muted;
    for (const [{ kind }, { x1, y1, x2, y2 }] of named) {
      const name = this.#model.recording.messageKinds[kind] ?? '';
      const { width } = context.measureText(name);
      const [x, y] = [(x1 + x2) / 2 + 5, (y1 + y2) / 2];
      const isFree = taken.every(
        (other) => Math.abs(other.y - y) > 11 || x > other.x + other.width + 4 || other.x > x + width + 4,
      );
      if (x < geometry.gutter || x + width > geometry.width || !isFree) continue;
      taken.push({ x, y, width });
      context.fillText(name, x, y + 3);
    }
  }

  #strokeLines({ family, dim, lost, slow, lines }: Stroke): void {
    const context = this.#context;
    context.globalAlpha = dim ? 0.1 : family === 'gossip' ? 0.35 : lines.length > 3000 ? 0.45 : 0.85;
    context.strokeStyle = lost && !dim ? this.#palette.bad : this.#palette.families[family];
    context.lineWidth = lost ? 1.6 : 1.1;
    context.setLineDash(slow ? [5, 3] : []);
    const heads = lines.length < 1500 && !dim && !lost;
    const isUpright = (line: Line): boolean => Math.abs(line.x2 - line.x1) < 1 && !heads && !slow;
    context.fillStyle = context.strokeStyle;
    for (const { x1, y1, x2, y2 } of lines.filter(isUpright)) {
      context.fillRect((x1 + x2) / 2 - 0.55, Math.min(y1, y2), context.lineWidth, Math.abs(y2 - y1));
    }
    const leaning = lines.filter((line) => !isUpright(line));
    // One path of thousands of lines takes a browser far longer than many of few.
    for (let at = 0; at < leaning.length; at += linesPerPath) {
      context.beginPath();
      for (const line of leaning.slice(at, at + linesPerPath)) trace(context, line, heads);
      context.stroke();
    }
    if (lost) {
      context.beginPath();
      for (const line of lines) cross(context, line);
      context.stroke();
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  /** The cursor and the violation. */
  #paintInstants({ x, height, axisY }: Geometry): void {
    const context = this.#context;
    const { concern } = this.#model.recording;
    const line = (us: number, colour: string, dash: readonly number[]): void => {
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      context.setLineDash([...dash]);
      context.beginPath();
      context.moveTo(x(us), axisY);
      context.lineTo(x(us), height);
      context.stroke();
      context.setLineDash([]);
    };
    if (concern !== undefined) line(concern.atUs, this.#palette.bad, [2, 2]);
    if (this.#cursorUs < this.#model.endUs) line(this.#cursorUs, this.#palette.accent, []);
  }
}

interface Line {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** Most messages in view that are named. */
const namedMax = 24;

interface Stroke {
  readonly family: ReturnType<typeof familyOf>;
  readonly dim: boolean;
  readonly lost: boolean;
  readonly slow: boolean;
  readonly lines: Line[];
}

/** A lost message ends half-way, after the time that messages usually take. */
function lineOf({ laneY, x }: Geometry, message: Message): Line | undefined {
  const [y1, y2] = [laneY[message.from], laneY[message.to]];
  if (y1 === undefined || y2 === undefined) return undefined;
  const x1 = x(message.sentUs);
  if (message.arrivedUs >= 0) return { x1, y1, x2: x(message.arrivedUs), y2 };
  return { x1, y1, x2: Math.max(x1 + 6, x(message.sentUs + 250)), y2: y1 + (y2 - y1) * 0.45 };
}

/** A number of its own for each pair of lanes and pair of columns; undefined for a line that leaves the canvas. */
function placeOf({ width, laneY }: Geometry, { from, to }: Message, { x1, x2 }: Line): number | undefined {
  if (x1 < 0 || x2 > width) return undefined;
  const columns = Math.ceil(width) + 1;
  return ((from * laneY.length + to) * columns + Math.round(x1)) * columns + Math.round(x2);
}

function trace(context: CanvasRenderingContext2D, { x1, y1, x2, y2 }: Line, head: boolean): void {
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  if (!head) return;
  const angle = Math.atan2(y2 - y1, x2 - x1);
  for (const side of [-0.42, 0.42]) {
    context.moveTo(x2, y2);
    context.lineTo(x2 - 7 * Math.cos(angle + side), y2 - 7 * Math.sin(angle + side));
  }
}

function cross(context: CanvasRenderingContext2D, { x2, y2 }: Line): void {
  context.moveTo(x2 - 4, y2 - 4);
  context.lineTo(x2 + 4, y2 + 4);
  context.moveTo(x2 + 4, y2 - 4);
  context.lineTo(x2 - 4, y2 + 4);
}

function distanceTo({ x1, y1, x2, y2 }: Line, x: number, y: number): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const length = dx * dx + dy * dy || 1;
  const along = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / length));
  return Math.hypot(x - x1 - along * dx, y - y1 - along * dy);
}
