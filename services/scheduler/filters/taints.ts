import { matchesSpec } from '#libs/domain/extra-specs/matches-spec';
import { TOLERATION_SCOPE } from '#libs/domain/extra-specs/parse';
import { valuesIn } from '#libs/domain/grouping/aggregate';
import type { HostState } from '../fleet/host-state';
import type { ClassFilter } from './filter';

/**
 * taints: a host in an aggregate with the metadata `taint:<name>` takes only requests that tolerate each of its values.
 *
 * Kubernetes' taints with the effect NoSchedule, and the conditions of KEP-5471: the extra spec `toleration:<name>` is the
 * value, a condition with the operators of extra specs (`>= 950`), or `*` for any value. Instances that run on a host stay
 * when it is tainted. Reason: `tainted`.
 */
export const taintsFilter: ClassFilter = {
  kind: 'class',
  name: 'taints',
  saysWhere: true,
  prepare: ({ extraSpecs }) => {
    const isTolerated = ({ name, value }: Taint) => {
      const key = `${TOLERATION_SCOPE}${name}`;
      const wanted = Object.hasOwn(extraSpecs, key) ? extraSpecs[key] : undefined;
      return wanted === '*' || (wanted !== undefined && matchesSpec(value, wanted));
    };
    const untolerated = (host: HostState) => taintsOf(host).filter((taint) => !isTolerated(taint));
    return [
      {
        refuse: (host) => (host.aggregates.length > 0 && untolerated(host).length > 0 ? TAINTED : undefined),
        describe: (host) => {
          const [taint] = untolerated(host);
          return `it is tainted ${taint?.name}=${taint?.value}; the extra spec ${TOLERATION_SCOPE}${taint?.name} would tolerate it`;
        },
      },
    ];
  },
};

interface Taint {
  readonly name: string;
  readonly value: string;
}

const TAINT_SCOPE = 'taint:';
const TAINTED = { symbol: 'tainted', phrase: 'have a taint that the request does not tolerate' };

function taintsOf({ aggregates }: HostState): Taint[] {
  const said = aggregates.flatMap(({ metadata }) => Object.entries(metadata));
  return said
    .filter(([key]) => key.startsWith(TAINT_SCOPE))
    .flatMap(([key, values]) => valuesIn(values).map((value) => ({ name: key.slice(TAINT_SCOPE.length), value })));
}
