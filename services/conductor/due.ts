import type { Instance } from '#libs/domain/instance';
import { schedule } from './build';
import type { Conductor } from './context';
import { isBeingBuilt } from './records';
import { claimNextHost, tryNextHost } from './retry';
import { destroyed, destroyOn } from './terminate';

const BATCH = 100;

/**
 * Looks after instances whose deadline has passed, whoever worked on them before: agents that never answered, builds
 * that a conductor left between two steps, hosts that never confirmed a destruction. Each is taken by one conductor at a
 * time. Answers how many it took.
 */
export async function lookAfterDue(c: Conductor): Promise<number> {
  const due = await c.instances.takeDue(c.clock.now(), c.config.schedulingTimeoutMs, BATCH);
  const byRequest = groupByRequest(due.filter(({ state }) => state === 'scheduling'));
  const steps = [
    ...[...byRequest.values()].map((instances) => ({ of: instances[0], step: () => schedule(c, instances) })),
    ...due.filter(({ state }) => state !== 'scheduling').map((of) => ({ of, step: () => overdue(c, of) })),
  ];
  await Promise.all(
    steps.map(({ of, step }) =>
      // It stays due: the next round tries again.
      step().catch((err: unknown) => c.log.warn({ err, instance_uuid: of?.uuid }, 'could not look after an instance')),
    ),
  );
  return due.length;
}

async function overdue(c: Conductor, instance: Instance): Promise<void> {
  if (instance.state === 'deleting') {
    c.log.warn({ instance_uuid: instance.uuid, host: instance.host }, 'the host never confirmed the destruction');
    return destroyed(c, instance);
  }
  if (!isBeingBuilt(instance)) return claimNextHost(c, instance);
  const { host } = instance;
  await tryNextHost(c, instance, 'timed_out', `no answer within ${c.config.buildTimeoutMs} ms`);
  if (host !== undefined) await destroyOn(c, host, instance.uuid, instance.attempts.at(-1)?.number ?? 0, false);
}

function groupByRequest(instances: readonly Instance[]): Map<string, Instance[]> {
  const groups = new Map<string, Instance[]>();
  for (const instance of instances)
    groups.set(instance.requestId, [...(groups.get(instance.requestId) ?? []), instance]);
  return groups;
}
