import type { HostSummary, InstanceView } from '#libs/contracts/messages';
import { capacityOf } from '#libs/domain/inventory';
import type { Fleet } from './plan';

/** By amounts alone: which of its hosts something may go to, the scheduler says. */
export function fleetOf(hosts: readonly HostSummary[], instances: readonly InstanceView[]): Fleet {
  return {
    hosts: hosts.map(({ host, up, enabled, quarantinedUntilMs, resources }) => {
      const classes = Object.entries(resources);
      const capacity = Object.fromEntries(classes.map(([name, { inventory }]) => [name, capacityOf(inventory)]));
      const free = Object.fromEntries(classes.map(([name, { used }]) => [name, (capacity[name] ?? 0) - used]));
      return { name: host, isOpen: up && enabled && quarantinedUntilMs === 0, capacity, free };
    }),
    instances: instances
      .filter(({ host, state }) => host !== '' && state !== 'deleted' && state !== 'error')
      .map(({ uuid, host, state, migration, requestSpec }) => {
        const isMovable = state === 'active' && migration === undefined;
        return { uuid, host, resources: requestSpec.resources, isMovable };
      }),
  };
}
