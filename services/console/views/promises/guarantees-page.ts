import { brokenLossText, guaranteeScope, guaranteeState, headroomLines } from '#libs/contracts/guarantee-words';
import type { GuaranteeStatus } from '#libs/contracts/guarantees';
import { lossText } from '#libs/domain/grouping/guarantee';
import type { GuaranteeRow, GuaranteesPage } from '../../api/promises/guarantees';
import type { Live } from '../../live/live';

/**
 * Reads what the page of guarantees shows.
 *
 * @param flavor  of which to say how many more fit; '' for none
 * @throws BerthError `not_found / no_such_flavor`; `unavailable`
 */
export async function readGuaranteesPage({ parts: { client } }: Live, flavor: string): Promise<GuaranteesPage> {
  const [{ guarantees, headroom }, flavors] = await Promise.all([
    client.guarantees('', flavor === '' ? undefined : flavor),
    client.flavors().catch(() => []),
  ]);
  return {
    guarantees: guarantees.map(rowOf),
    headroom: headroom ? headroomLines(headroom, flavor) : [],
    flavors: flavors.map(({ name }) => name).sort(),
  };
}

function rowOf(status: GuaranteeStatus): GuaranteeRow {
  const { guarantee, instances, losses, kept, unread, broken } = status;
  return {
    name: guarantee.name,
    lose: lossText(guarantee),
    scope: guaranteeScope(status),
    policy: guarantee.policy,
    instances,
    losses,
    kept,
    state: guaranteeState(status),
    holds: losses > 0 && kept === losses && unread === 0,
    broken: broken.map((one) => ({ text: brokenLossText(one), instanceUuid: one.instanceUuid })),
  };
}
