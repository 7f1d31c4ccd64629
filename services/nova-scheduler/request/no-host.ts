import type { FilterDiagnosis } from '#libs/contracts/diagnosis';
import { RemoteError } from '#libs/oslo/remote-error';
import type { HostVerdicts } from '../decision/host-verdicts';

/** The findings that made a decision end without a host. */
export interface NoHostBasis {
  /** Hosts that each step refused. */
  readonly filters: readonly FilterDiagnosis[];
  /** Undefined where nobody observes. */
  readonly verdicts: HostVerdicts | undefined;
}

const NOT_ASKED: NoHostBasis = { filters: [], verdicts: undefined };

/** No host suits: Nova's `NoValidHost`, whose reason stands in the server's fault. */
export class NoHost extends RemoteError {
  /** @param basis  of a decision that asked the hosts */
  constructor(
    readonly reason: string,
    readonly basis: NoHostBasis = NOT_ASKED,
  ) {
    super('NoValidHost', 'nova.exception', `No valid host was found. ${reason}`, { reason, code: 500 });
  }

  get verdicts(): HostVerdicts | undefined {
    return this.basis.verdicts;
  }
}
