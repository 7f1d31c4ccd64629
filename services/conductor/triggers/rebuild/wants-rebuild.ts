import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Instance } from '#libs/domain/instance';

/** Whether an instance is evacuated without anybody asking. */
export function wantsRebuild({ requestSpec }: Instance): boolean {
  return requestSpecCodec.decode(requestSpec).rebuildPolicy === 'evacuate';
}
