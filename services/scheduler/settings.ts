import { declaredRules } from './declared/declared-rules';
import type { ClassFilter, RequestFilter } from './filters/filter';
import { FILTERS } from './filters/registry';
import type { SchedulerConfig } from './options';
import type { RankingSettings } from './ranking/judgement';
import type { ConstraintSettings } from './ranking/request-constraints';
import { withProfile } from './weighers/profiles';

/** Settings of decisions: the configuration, with the filters that it names. */
export interface SelectSettings extends RankingSettings, ConstraintSettings {
  readonly hostSubsetSize: number;
  readonly claimAttempts: number;
  readonly confirmHosts: number;
  readonly guaranteeHosts: number;
  readonly guaranteeLosses: number;
  readonly guaranteeSteps: number;
  readonly backfillMarginMs: number;
  readonly maxInstances: number;
  /** 0 keeps none. */
  readonly keptDecisions: number;
}

export function selectSettings(config: SchedulerConfig): SelectSettings {
  const inUse = FILTERS.filter((filter) => config.filters.includes(filter.name));
  const { filters, weightedRules } = declaredRules(config);
  return {
    ...withProfile(config),
    weightedRules,
    classFilters: [...inUse.filter((filter): filter is ClassFilter => filter.kind === 'class'), ...filters],
    requestFilters: inUse.filter((filter): filter is RequestFilter => filter.kind === 'request'),
  };
}
