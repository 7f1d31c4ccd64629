/** Of what is kept of all projects together one has at most this part, so that none keeps others out. */
const PROJECT_SHARE_PERCENT = 20;

/** How many of `most` one project may have; one at least. */
export function projectShare(most: number, percent = PROJECT_SHARE_PERCENT): number {
  return Math.max(1, Math.floor((most * percent) / 100));
}
