import type { Consumer } from '../../domain/consumer';
import type { Provider } from '../../domain/provider';
import type { ProjectQuota } from '../../domain/quotas/quota';
import type { PlacementView, ProjectQuotas } from './placement-view';
import type { Revised } from './rows';

/** The part of a mirror, with the revisions of rows, on which a store may decide claims. It may be out of date. */
export interface MirroredRows
  extends Pick<PlacementView, 'usage' | 'groupMembers' | 'keptPlaces' | 'nominations' | 'admissionTurn'> {
  consumer(uuid: string): Revised<Consumer> | undefined;
  provider(uuid: string): Revised<Provider> | undefined;
  /** True where reservations have a part of the provider. */
  isReserved(providerUuid: string): boolean;
  readonly quotas: Pick<ProjectQuotas, 'usage'> & { quota(projectId: string): Revised<ProjectQuota> | undefined };
}
