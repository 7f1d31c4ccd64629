import type { Amounts, InventoryDocuments } from '../client/placement-documents';
import type { Endpoint } from './endpoint';
import { type ConsumerState, UNKNOWN_TYPE } from './snapshot';
import { request, type Written } from './write-request';

const SINCE_CONSUMER_TYPES = 38;

/** Makes a consumer hold what it holds at the source, if it is still as it was read. */
export function writeConsumer(to: Endpoint, source: ConsumerState, there: ConsumerState | undefined): Promise<Written> {
  const { uuid, projectId, userId, consumerType, allocations } = source;
  // A consumer without a type can be written as such only before there were types.
  const hasType = to.minor >= SINCE_CONSUMER_TYPES && consumerType !== UNKNOWN_TYPE;
  const body = {
    allocations: Object.fromEntries(
      Object.entries(allocations).map(([provider, resources]) => [provider, { resources }]),
    ),
    project_id: projectId,
    user_id: userId,
    consumer_generation: there?.generation ?? null,
    ...(hasType ? { consumer_type: consumerType } : {}),
  };
  const minor = hasType ? to.minor : Math.min(to.minor, SINCE_CONSUMER_TYPES - 1);
  return request(to, { method: 'PUT', path: `/allocations/${uuid}`, body, minor });
}

/** Takes what a consumer holds away from it, if it is still as it was read. */
export async function deleteConsumer(to: Endpoint, there: ConsumerState | undefined): Promise<Written> {
  return there === undefined ? { writes: 0 } : writeConsumer(to, { ...there, allocations: {} }, there);
}

/**
 * Writes a consumer that does not fit.
 *
 * Running instances may exceed capacity: an operator lowered a ratio, or took a disk away. Placement lets nobody write such an
 * allocation, but it lets inventories shrink below what is used. So each inventory becomes, for this one request, exactly
 * as large as what is used and what is added, with room for nobody else, and then what it was again. An import that ends
 * between leaves a difference of inventories, which the next one removes.
 */
export async function writeConsumerAboveCapacity(
  to: Endpoint,
  source: ConsumerState,
  there: ConsumerState | undefined,
): Promise<Written> {
  const steps: Written[] = [];
  const closing: (() => Promise<Written>)[] = [];
  try {
    for (const [provider, amounts] of Object.entries(source.allocations)) {
      const opened = await openProvider(to, provider, amounts);
      if (opened === undefined) continue;
      closing.push(() => opened.close());
      steps.push({ writes: opened.writes });
    }
    steps.push(await writeConsumer(to, source, there));
  } finally {
    // An error must not leave the inventories without room.
    for (const close of closing.toReversed()) steps.push(await close());
  }
  const refused = steps.find((step) => step.refused)?.refused;
  return { writes: steps.reduce((sum, step) => sum + step.writes, 0), ...(refused ? { refused } : {}) };
}

interface InventoriesAnswer {
  readonly inventories: InventoryDocuments;
  readonly resource_provider_generation: number;
}

/** Undefined for a provider that is gone or refuses: the write of the consumer says why. */
async function openProvider(to: Endpoint, uuid: string, amounts: Amounts) {
  const path = `/resource_providers/${uuid}/inventories`;
  const before = await to.find<InventoriesAnswer>(path);
  const used = await to.find<{ usages: Amounts }>(`/resource_providers/${uuid}/usages`);
  if (!before || !used) return undefined;
  const enlarged = Object.entries(before.inventories).map(([name, inventory]) => {
    const amount = amounts[name];
    if (amount === undefined) return [name, inventory];
    const total = (used.usages[name] ?? 0) + amount;
    return [name, { total, reserved: 0, min_unit: 1, max_unit: total, step_size: 1, allocation_ratio: 1 }];
  });
  const put = async (inventories: InventoryDocuments, generation: number) =>
    request(to, { method: 'PUT', path, body: { inventories, resource_provider_generation: generation } });
  const opened = await put(Object.fromEntries(enlarged) as InventoryDocuments, before.resource_provider_generation);
  if (opened.refused) return undefined;
  return {
    writes: opened.writes,
    async close(): Promise<Written> {
      const now = await to.find<InventoriesAnswer>(path);
      return now ? put(before.inventories, now.resource_provider_generation) : { writes: 0 };
    },
  };
}
