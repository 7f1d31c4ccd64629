import { availabilityZoneFilter } from '../../../../services/scheduler/filters/availability-zone';
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
];
