/** Part of a common limit that one project may use, so that none keeps others out. */
const PROJECT_SHARE_PERCENT = 20;

/** One project's share of `most`; one at least. */
export function projectShare(most: number, percent = PROJECT_SHARE_PERCENT): number {
  return Math.max(1, Math.floor((most * percent) / 100));
}
