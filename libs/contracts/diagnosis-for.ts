import type { Diagnosis } from './diagnosis';
import type { Identity } from './identity';

/** A diagnosis without the sums of a cohort, for a tenant: less its own, they are what others use. */
export function diagnosisFor(asker: Identity, diagnosis: Diagnosis): Diagnosis {
  if (asker.kind === 'service') return diagnosis;
  const isOwn = ({ scope }: Diagnosis['quotaExceeded'][number]) => scope === 'project';
  return { ...diagnosis, quotaExceeded: diagnosis.quotaExceeded.filter(isOwn) };
}
