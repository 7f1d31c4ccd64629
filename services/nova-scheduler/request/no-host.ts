import type { FilterDiagnosis } from '#libs/contracts/diagnosis';
import { RemoteError } from '#libs/oslo/remote-error';

/** No host suits: Nova's `NoValidHost`, whose reason stands in the server's fault. */
export class NoHost extends RemoteError {
  /** @param filters  the hosts that each step refused, where the hosts were asked */
  constructor(
    readonly reason: string,
    readonly filters: readonly FilterDiagnosis[] = [],
  ) {
    super('NoValidHost', 'nova.exception', `No valid host was found. ${reason}`, { reason, code: 500 });
  }
}
