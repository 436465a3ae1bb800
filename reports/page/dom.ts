/** What the page's script reads of its markup, and how it writes instants. Elements are made by the console's `h`. */

/** The element of that id, which the page's markup holds. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no element ${id}`);
  return element;
}

/** Virtual time in seconds with microseconds: `1.204017 s`. */
export function timeText(us: number): string {
  return `${(us / 1_000_000).toFixed(6)} s`;
}
