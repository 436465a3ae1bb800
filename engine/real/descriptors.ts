/** How many files and connections the system lets this process have open at once. */

/** Parts of Node's diagnostic report. */
interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } };
}

/** Infinity where there is no limit, or none is told (Windows). */
export function descriptorsMax(): number {
  // The types are of the oldest Node.js; before 20.13 it does nothing.
  const report = process.report as typeof process.report & { excludeNetwork?: boolean };
  const before = report.excludeNetwork ?? false;
  // It would look up the name of everybody that there is a connection to.
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as Report;
  report.excludeNetwork = before;
  const soft = Number(userLimits?.open_files?.soft);
  return Number.isInteger(soft) ? soft : Infinity;
}
