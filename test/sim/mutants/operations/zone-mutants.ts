import * as declaring from '../../../../services/scheduler/declared/declared-rules';
import { availabilityZoneFilter } from '../../../../services/scheduler/filters/availability-zone';
import { taintsFilter } from '../../../../services/scheduler/filters/taints';
import { tenantIsolationFilter } from '../../../../services/scheduler/filters/tenant-isolation';
import { type Mutant, mutant, withFocus } from '../mutant';

export const ZONE_MUTANTS: readonly Mutant[] = [
  withFocus(
    mutant('zones-ignored', 'that a request may name its zone', availabilityZoneFilter, 'prepare', () => () => []),
    'host into a zone',
    'build in a zone',
  ),
  withFocus(
    mutant('tenants-mixed', 'that hosts may be for one tenant', tenantIsolationFilter, 'prepare', () => () => []),
    'hosts for one tenant',
  ),
  withFocus(
    mutant('taints-ignored', 'that a host may be tainted', taintsFilter, 'prepare', () => () => []),
    'host is barred',
    'build',
  ),
  withFocus(
    mutant(
      'rules-ignored',
      'the filters that an operator declares',
      declaring,
      'declaredRules',
      (original) => (config) => {
        return { ...original(config), filters: [] };
      },
    ),
    'host is barred',
    'build',
  ),
];
