import { sleep } from '#libs/domain/clock';
import type { SelectDeps } from '../decision/select-destinations';
import type { NovaConfig } from '../options';
import { databaseNeeds } from '../request/database-needs';
import type { NovaRequest } from '../request/nova-request';

/**
 * Reads Nova's database anew for a request that needs it, for as long as a decision may wait.
 *
 * @returns a filter in use that can not be asked, because the database is not read, or was read too long ago and another scheduler is there
 */
export async function beyondReach(
  request: NovaRequest,
  { facts, refresh, clock, config }: Pick<SelectDeps, 'facts' | 'refresh' | 'clock'> & { readonly config: NovaConfig },
): Promise<string | undefined> {
  const [filter] = databaseNeeds(request).filter((name) => config.filters.includes(name));
  if (filter === undefined || config.databaseUrl === '') return filter;
  const waiting = new AbortController();
  await Promise.race([refresh('hardware'), sleep(clock, config.catchUpMs, waiting.signal)]);
  waiting.abort();
  const ageMs = facts.ageMs('hardware') ?? Infinity;
  const mostMs = config.fallbackTopic === '' ? Infinity : config.factsMaxAgeMs;
  return ageMs < mostMs ? undefined : filter;
}
