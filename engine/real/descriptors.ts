/** Reads how many files and connections the system lets this process have open at once. */

/** The part of Node's diagnostic report that is used. */
interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } };
}

/** Most open descriptors (the soft limit). `Infinity` if there is no limit or the system reports none (Windows). */
export function descriptorsMax(): number {
  // `excludeNetwork` is missing in the types of the oldest supported Node.js; before 20.13 it has no effect.
  const report = process.report as typeof process.report & { excludeNetwork?: boolean };
  const before = report.excludeNetwork ?? false;
  // Otherwise the report would look up the host name of every connected peer.
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as Report;
  report.excludeNetwork = before;
  const soft = Number(userLimits?.open_files?.soft);
  return Number.isInteger(soft) ? soft : Infinity;
}
