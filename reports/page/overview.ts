/** The strip above the diagram: how busy each moment of the whole run is, where faults struck, and which part is shown. */
import type { View } from './geometry.ts';
import type { Model } from './model.ts';
import { readPalette } from './style.ts';

/** Paints the strip. */
export function paintOverview(canvas: HTMLCanvasElement, model: Model, view: View): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, 34];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const palette = readPalette();
  const x = (us: number): number => (us / model.endUs) * width;
  for (const { fromUs, toUs } of model.recording.bands) {
    context.fillStyle = palette.band;
    context.fillRect(x(fromUs), 0, Math.max(2, x(toUs) - x(fromUs)), height);
  }
  const columns = new Uint32Array(Math.max(1, Math.floor(width / 2)));
  for (const { sentUs } of model.recording.messages) {
    const at = Math.min(columns.length - 1, Math.floor((sentUs / model.endUs) * columns.length));
    columns[at] = (columns[at] ?? 0) + 1;
  }
  const most = columns.reduce((max, count) => Math.max(max, count), 1);
  context.fillStyle = palette.muted;
  for (const [at, count] of columns.entries()) {
    const tall = Math.sqrt(count / most) * (height - 6);
    context.fillRect(at * 2, height - tall, 1.5, tall);
  }
  const { concern } = model.recording;
  if (concern !== undefined) {
    context.fillStyle = palette.bad;
    context.fillRect(x(concern.atUs) - 1, 0, 2, height);
  }
  context.strokeStyle = palette.accent;
  context.lineWidth = 2;
  context.globalAlpha = 0.15;
  context.fillStyle = palette.accent;
  const [left, right] = [x(view.fromUs), x(view.toUs)];
  context.fillRect(left, 0, right - left, height);
  context.globalAlpha = 1;
  context.strokeRect(left + 1, 1, Math.max(2, right - left - 2), height - 2);
}
