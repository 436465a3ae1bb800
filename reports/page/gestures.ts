/** Pointer, wheel and keys over the diagram and the strip above it. */
import type { Diagram, Hit } from './diagram.ts';

/** What gestures cause. */
export interface GestureTargets {
  hovered(hit: Hit | undefined, x: number, y: number): void;
  picked(hit: Hit | undefined, us: number): void;
  /** The view has changed. */
  moved(): void;
  endUs(): number;
  stepped(by: number): void;
  toViolation(): void;
}

/** A press that moves less is a click, in pixels. */
const clickPixels = 4;

/** Connects the gestures. */
export function followPointer(
  canvas: HTMLCanvasElement,
  strip: HTMLCanvasElement,
  diagram: Diagram,
  targets: GestureTargets,
): void {
  followDrags(canvas, diagram, targets);
  followWheel(canvas, diagram, targets);
  followKeys(canvas, diagram, targets);
  const centre = ({ offsetX }: PointerEvent): void => {
    const us = (offsetX / strip.clientWidth) * targets.endUs();
    const span = diagram.view.toUs - diagram.view.fromUs;
    diagram.setView({ fromUs: us - span / 2, toUs: us + span / 2 });
    targets.moved();
  };
  strip.addEventListener('pointerdown', (event) => {
    strip.setPointerCapture(event.pointerId);
    centre(event);
  });
  strip.addEventListener('pointermove', (event) => {
    if (event.buttons > 0) centre(event);
  });
}

function followDrags(canvas: HTMLCanvasElement, diagram: Diagram, targets: GestureTargets): void {
  const pointers = new Map<number, PointerEvent>();
  let travelled = 0;
  canvas.addEventListener('pointerdown', (event) => {
    pointers.set(event.pointerId, event);
    travelled = 0;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) {
      targets.hovered(diagram.hitAt(event.offsetX, event.offsetY), event.clientX, event.clientY);
      return;
    }
    const geometry = diagram.geometry();
    const { fromUs, toUs } = diagram.view;
    const [other] = [...pointers.values()].filter(({ pointerId }) => pointerId !== event.pointerId);
    if (other === undefined) {
      const by = geometry.us(before.offsetX) - geometry.us(event.offsetX);
      travelled += Math.abs(event.offsetX - before.offsetX) + Math.abs(event.offsetY - before.offsetY);
      diagram.setView({ fromUs: fromUs + by, toUs: toUs + by });
    } else {
      const [was, is] = [before, event].map(({ offsetX }) => Math.max(20, Math.abs(offsetX - other.offsetX)));
      travelled += clickPixels;
      diagram.zoom((was ?? 1) / (is ?? 1), geometry.us((event.offsetX + other.offsetX) / 2));
    }
    pointers.set(event.pointerId, event);
    targets.hovered(undefined, 0, 0);
    targets.moved();
  });
  const release = (event: PointerEvent): void => {
    const isClick = pointers.delete(event.pointerId) && travelled < clickPixels && event.type === 'pointerup';
    if (!isClick) return;
    const hit = diagram.hitAt(event.offsetX, event.offsetY);
    targets.picked(hit, diagram.geometry().us(event.offsetX));
  };
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', release);
  canvas.addEventListener('pointerleave', () => targets.hovered(undefined, 0, 0));
}

function followWheel(canvas: HTMLCanvasElement, diagram: Diagram, targets: GestureTargets): void {
  const onWheel = (event: WheelEvent): void => {
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const geometry = diagram.geometry();
      const by = geometry.us(event.deltaX === 0 ? event.deltaY : event.deltaX) - geometry.us(0);
      const { fromUs, toUs } = diagram.view;
      diagram.setView({ fromUs: fromUs + by, toUs: toUs + by });
    } else diagram.zoom(1.0015 ** event.deltaY, diagram.geometry().us(event.offsetX));
    event.preventDefault();
    targets.moved();
  };
  canvas.addEventListener('wheel', onWheel, { passive: false });
}

function followKeys(canvas: HTMLCanvasElement, diagram: Diagram, targets: GestureTargets): void {
  canvas.addEventListener('keydown', (event) => {
    const { fromUs, toUs } = diagram.view;
    const tenth = (toUs - fromUs) / 10;
    const pan = (by: number): void => diagram.setView({ fromUs: fromUs + by, toUs: toUs + by });
    const zoom = (factor: number): void => diagram.zoom(factor, (fromUs + toUs) / 2);
    const actions: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => (event.shiftKey ? pan(-tenth) : targets.stepped(-1)),
      ArrowRight: () => (event.shiftKey ? pan(tenth) : targets.stepped(1)),
      '+': () => zoom(0.7),
      '=': () => zoom(0.7),
      '-': () => zoom(1.4),
      Home: () => diagram.setView({ fromUs: 0, toUs: targets.endUs() }),
      v: () => targets.toViolation(),
    };
    const act = actions[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
    targets.moved();
  });
}
