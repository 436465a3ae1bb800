/** What `sim/main.ts` runs. The build bundles it with all its imports (.ci/bundle.js). */
export { complaintAbout } from './complaints.ts';
export { makeProgram, withPresentOptions } from './program.ts';
