import type { UsageShareView } from '../contracts/quotas';
import { invalidArgument } from '../domain/errors';

/** The owner of a share of usage; '' where it was not asked by that, or is not known. */
export type ShareKey = Omit<UsageShareView, 'days'>;

/** The order of shares in pages: by project, user, flavor and instance. */
export function compareShares(a: ShareKey, b: ShareKey): number {
  for (const name of ['projectId', 'userId', 'flavor', 'instanceUuid'] as const) {
    if (a[name] !== b[name]) return a[name] < b[name] ? -1 : 1;
  }
  return 0;
}

/** The marker of a page that begins after a share. */
export function markerOf({ projectId, userId, flavor, instanceUuid }: ShareKey): string {
  return JSON.stringify([projectId, userId, flavor, instanceUuid]);
}

/** @throws BerthError `invalid_argument / bad_marker`. */
export function readMarker(marker: string): ShareKey | undefined {
  if (marker === '') return undefined;
  const words = wordsOf(marker);
  if (words === undefined) throw invalidArgument('bad_marker', 'share_marker must be a next_marker', 'share_marker');
  const [projectId, userId, flavor, instanceUuid] = words;
  return { projectId, userId, flavor, instanceUuid };
}

function wordsOf(marker: string): readonly [string, string, string, string] | undefined {
  try {
    const words: unknown = JSON.parse(marker);
    const isMarker = Array.isArray(words) && words.length === 4 && words.every((word) => typeof word === 'string');
    return isMarker ? (words as [string, string, string, string]) : undefined;
  } catch {
    return undefined;
  }
}
