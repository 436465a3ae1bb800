/** What is drawn of a run, and where. */

/** The part of the run that is drawn. */
export interface View {
  readonly fromUs: number;
  readonly toUs: number;
}

/** Where lanes and instants lie on the canvas, in CSS pixels. */
export interface Geometry {
  readonly width: number;
  readonly height: number;
  readonly gutter: number;
  /** The middle of each lane; undefined if the filter hides it. */
  readonly laneY: readonly (number | undefined)[];
  readonly axisY: number;
  readonly x: (us: number) => number;
  readonly us: (x: number) => number;
}
