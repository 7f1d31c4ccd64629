import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Instance } from '#libs/domain/instance';

/** True if an instance is evacuated without being asked. */
export function wantsRebuild({ requestSpec }: Instance): boolean {
  return requestSpecCodec.decode(requestSpec).rebuildPolicy === 'evacuate';
}
