import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Instance } from '#libs/domain/instance';

/** True if an instance is evacuated without being asked: it says so, or its gang restores what it loses. */
export function wantsRebuild({ requestSpec, gang }: Instance): boolean {
  return gang?.onLoss === 'restore' || requestSpecCodec.decode(requestSpec).rebuildPolicy === 'evacuate';
}
