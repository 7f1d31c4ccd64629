import type { CheckHost, FilterContext, HostFilter } from '../filters/filter';
import { namedHosts } from '../filters/named-hosts';
import type { HostState } from './host-state';
import type { RefusalSinks } from './host-verdicts';

/** The step of what a request says of hosts by name. */
const NAMED = 'the request';

/** The hosts that pass; the others are counted by the first step that refuses them. */
export function filterHosts(
  hosts: readonly HostState[],
  filters: readonly HostFilter[],
  context: FilterContext,
  { refusals, verdicts }: RefusalSinks,
): HostState[] {
  const named = namedHosts(context.request);
  const checks: (readonly [string, CheckHost])[] = [[NAMED, named.check]];
  if (!named.skipsFilters) {
    for (const filter of filters) {
      if (context.request.isRebuild && !filter.runsOnRebuild) continue;
      const check = filter.prepare(context);
      if (check !== undefined) checks.push([filter.name, check]);
    }
  }
  return hosts.filter((host) => {
    for (const [step, check] of checks) {
      const reason = check(host);
      if (reason === undefined) continue;
      refusals.add(step, reason);
      verdicts?.refuse(host.node.uuid, host.node.host, step, reason);
      return false;
    }
    return true;
  });
}
