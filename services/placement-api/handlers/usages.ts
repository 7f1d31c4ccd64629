import type { Consumer } from '#libs/domain/consumer';
import { addResources, type Resources } from '#libs/domain/inventory';
import { SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { partOf, requireProvider } from './store-results';

/** The type shown for consumers without one, written before 1.38. */
const UNTYPED = 'unknown';

/** GET /resource_providers/{uuid}/usages */
export async function getProviderUsages({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const view = await placement.now();
  const provider = requireProvider(view, params.uuid);
  const used = view.usage(provider.uuid);
  const usages = Object.fromEntries(Object.keys(provider.inventories).map((name) => [name, used[name] ?? 0]));
  return partOf(provider, { usages }, 'now');
}

/** GET /usages: the usage of a project, or of a user of it; by consumer type since 1.38. */
export async function getUsages({ query, version }: ApiRequest, placement: Placement): Promise<Answer> {
  const [projectId, userId, type] = [query.last('project_id'), query.last('user_id'), query.last('consumer_type')];
  const view = await placement.now();
  const consumers = [...view.consumers()].filter(
    (consumer) =>
      consumer.projectId === projectId &&
      (userId === undefined || consumer.userId === userId) &&
      (type === undefined || type === 'all' || type === typeOf(consumer)),
  );
  const usages = version < SINCE.consumerType ? sumOf(consumers) : byType(consumers, type === 'all');
  return { status: 200, body: { usages }, lastModifiedMs: 'now' };
}

function byType(consumers: readonly Consumer[], together: boolean) {
  const groups = new Map<string, Consumer[]>();
  for (const consumer of consumers) {
    const type = together ? 'all' : typeOf(consumer);
    const group = groups.get(type);
    if (group) group.push(consumer);
    else groups.set(type, [consumer]);
  }
  return Object.fromEntries(
    [...groups].map(([type, group]) => [type, { ...sumOf(group), consumer_count: group.length }]),
  );
}

function typeOf({ consumerType }: Consumer): string {
  return consumerType ?? UNTYPED;
}

function sumOf(consumers: readonly Consumer[]): Resources {
  return consumers.flatMap(({ allocations }) => Object.values(allocations)).reduce(addResources, {});
}
