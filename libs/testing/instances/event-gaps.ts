import type { InstanceEvent } from '../../contracts/instance';
import type { Instance } from '../../domain/instance';

/**
 * Events of these instances that a listener missed: every version must arrive, and none before its predecessor.
 * Repetitions are allowed.
 */
export function eventGaps(events: readonly InstanceEvent[], instances: readonly Instance[]): string[] {
  const heard = new Map<string, InstanceEvent[]>(instances.map(({ uuid }) => [uuid, []]));
  const gaps: string[] = [];
  for (const event of events) {
    const before = heard.get(event.instanceUuid) ?? [];
    const next = before.length + 1;
    if (event.version === next) before.push(event);
    else if (event.version > next) gaps.push(`${event.instanceUuid}: version ${event.version} came before ${next}`);
  }
  for (const { uuid, version, state } of instances) {
    const all = heard.get(uuid) ?? [];
    const own = all[version - 1];
    if (own === undefined) gaps.push(`${uuid}: version ${version} never came, ${all.length} did`);
    else if (own.state !== state) gaps.push(`${uuid}: version ${version} is ${state}, was told as ${own.state}`);
  }
  return gaps;
}
