/** The strip above the diagram: how busy each moment of the whole run is, where faults struck, and which part is shown. */
import type { View } from './geometry.ts';
import type { Model } from './model.ts';
import type { Palette } from './style.ts';
import { readPalette } from './style.ts';

const height = 34;

/** The strip of one model. */
export class Overview {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  /** All that does not depend on the view, painted once. */
  readonly #whole = document.createElement('canvas');
  #model: Model;
  #palette: Palette = readPalette();
  #width = 0;
  #view: View;
  #asked = false;

  constructor(canvas: HTMLCanvasElement, model: Model, view: View) {
    const context = canvas.getContext('2d');
    if (context === null) throw new Error('the browser draws on no canvas');
    this.#canvas = canvas;
    this.#context = context;
    this.#model = model;
    this.#view = view;
  }

  /** Shows another run. */
  setModel(model: Model): void {
    this.#model = model;
    this.#width = 0;
  }

  /** The theme, or the size, may have changed. */
  repaint(): void {
    this.#palette = readPalette();
    this.#width = 0;
    this.show(this.#view);
  }

  /** Marks the part of the run that is shown, in the next frame. */
  show(view: View): void {
    this.#view = view;
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      this.#paint();
    });
  }

  #paint(): void {
    const ratio = window.devicePixelRatio || 1;
    if (this.#width === 0) {
      this.#width = this.#canvas.clientWidth;
      for (const canvas of [this.#canvas, this.#whole]) {
        canvas.width = Math.max(1, Math.round(this.#width * ratio));
        canvas.height = Math.round(height * ratio);
      }
      this.#paintWhole(ratio);
    }
    const context = this.#context;
    const { accent } = this.#palette;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    context.drawImage(this.#whole, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [left, right] = [this.#x(this.#view.fromUs), this.#x(this.#view.toUs)];
    context.strokeStyle = accent;
    context.fillStyle = accent;
    context.lineWidth = 2;
    context.globalAlpha = 0.15;
    context.fillRect(left, 0, right - left, height);
    context.globalAlpha = 1;
    context.strokeRect(left + 1, 1, Math.max(2, right - left - 2), height - 2);
  }

  #x(us: number): number {
    return (us / this.#model.endUs) * this.#width;
  }

  #paintWhole(ratio: number): void {
    const context = this.#whole.getContext('2d');
    if (context === null) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { recording, endUs } = this.#model;
    for (const { fromUs, toUs } of recording.bands) {
      context.fillStyle = this.#palette.band;
      const left = this.#x(fromUs);
      context.fillRect(left, 0, Math.max(2, this.#x(toUs) - left), height);
    }
    const columns = new Uint32Array(Math.max(1, Math.floor(this.#width / 2)));
    for (const { sentUs } of recording.messages) {
      const at = Math.min(columns.length - 1, Math.floor((sentUs / endUs) * columns.length));
      columns[at] = (columns[at] ?? 0) + 1;
    }
    const most = columns.reduce((max, count) => Math.max(max, count), 1);
    context.fillStyle = this.#palette.muted;
    for (const [at, count] of columns.entries()) {
      const tall = Math.sqrt(count / most) * (height - 6);
      context.fillRect(at * 2, height - tall, 1.5, tall);
    }
    if (recording.concern === undefined) return;
    context.fillStyle = this.#palette.bad;
    context.fillRect(this.#x(recording.concern.atUs) - 1, 0, 2, height);
  }
}
