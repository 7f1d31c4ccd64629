import { sleep } from '#libs/domain/clock';
import type { SelectDeps } from '../decision/select-destinations';
import { metricsFilter } from '../filters/metrics';
import type { NovaConfig } from '../options';
import { databaseNeeds } from '../request/database-needs';
import type { NovaRequest } from '../request/nova-request';

type ReachDeps = Pick<SelectDeps, 'facts' | 'refresh' | 'clock'> & { readonly config: NovaConfig };

/**
 * Reads Nova's database anew for a request that needs it, for as long as a decision may wait.
 *
 * @returns a filter in use that can not be asked, because the database is not read, or was read too long ago and another scheduler is there
 */
export async function beyondReach(
  request: NovaRequest,
  { facts, refresh, clock, config }: ReachDeps,
): Promise<string | undefined> {
  const [filter] = databaseNeeds(request).filter((name) => config.filters.includes(name));
  const needed = filter ?? (needsMetrics(config) ? metricsFilter.name : undefined);
  if (needed === undefined || config.databaseUrl === '') return needed;
  if (filter !== undefined) {
    const waiting = new AbortController();
    await Promise.race([refresh('hardware'), sleep(clock, config.catchUpMs, waiting.signal)]);
    waiting.abort();
  }
  const ageMs = facts.ageMs('hardware') ?? Infinity;
  const mostMs = config.fallbackTopic === '' ? Infinity : config.factsMaxAgeMs;
  return ageMs < mostMs ? undefined : needed;
}

/** Metrics change once a minute: no request waits for them. */
function needsMetrics({ filters, metricsWeightSetting }: NovaConfig): boolean {
  return filters.includes(metricsFilter.name) && metricsWeightSetting.length > 0;
}
