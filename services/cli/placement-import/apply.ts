import { mapConcurrently } from '#libs/runtime/concurrent';
import { groupBy } from '#libs/runtime/group-by';
import { refusal } from '../client/placement-errors';
import type { ShowProgress } from '../views/progress';
import type { Difference } from './compare';
import type { Endpoint } from './endpoint';
import { IN_FLIGHT, type Snapshot } from './snapshot';
import { deleteConsumer, writeConsumer, writeConsumerAboveCapacity } from './write-consumer';
import { writeProvider } from './write-provider';
import { request, type Written } from './write-request';

/** A difference that a write did not remove, and why. */
export interface Failure extends Pick<Difference, 'of' | 'id' | 'name'> {
  readonly why: string;
}

export interface Outcome {
  /** Requests that changed something. */
  readonly writes: number;
  readonly failures: readonly Failure[];
}

export interface Plan {
  readonly source: Snapshot;
  readonly destination: Snapshot;
  readonly differences: readonly Difference[];
  /** Deletes what only the destination has. */
  readonly deletesExtra: boolean;
}

/**
 * Removes differences from the destination. Each write is guarded by the generation that was read, so what somebody else
 * changed meanwhile is refused, a failure like any other: the caller reads again, compares again, and goes on with what
 * is left. That is also how an import that was killed goes on.
 *
 * @throws BerthError when the destination is away, or refuses the token
 */
export async function apply(to: Endpoint, plan: Plan, show: ShowProgress = () => {}): Promise<Outcome> {
  const { source, destination, differences, deletesExtra } = plan;
  const failures: Failure[] = [];
  const total = new Set(differences.map(keyOf)).size;
  const done = new Set<string>();
  let writes = 0;
  const attempt = async (difference: Difference, write: () => Promise<Written>): Promise<boolean> => {
    const { writes: more, refused } = await write();
    writes += more;
    done.add(keyOf(difference));
    show(done.size, total, () => `${difference.of}s`);
    if (refused === undefined) return true;
    const { of, id, name } = difference;
    const why = refusal(refused.status, refused.body, to.url).message;
    failures.push({ of, id, ...(name === undefined ? {} : { name }), why });
    return false;
  };
  const those = (of: Difference['of'], isExtra = false) => {
    const chosen = differences.filter(({ of: its, aspect }) => its === of && (aspect === 'extra') === isExtra);
    const grouped = groupBy(chosen, ({ id }) => id);
    return [...grouped.values()].map((all) => ({
      difference: all[0] as Difference,
      aspects: all.map(({ aspect }) => aspect),
    }));
  };

  await mapConcurrently(those('resource class'), IN_FLIGHT, ({ difference }) =>
    attempt(difference, () => request(to, { method: 'PUT', path: `/resource_classes/${difference.id}` })),
  );
  await mapConcurrently(those('trait'), IN_FLIGHT, ({ difference }) =>
    attempt(difference, () => request(to, { method: 'PUT', path: `/traits/${difference.id}` })),
  );
  const names = { resourceClasses: known('resource class'), traits: known('trait') };
  if (deletesExtra) {
    await mapConcurrently(those('consumer', true), IN_FLIGHT, ({ difference }) =>
      attempt(difference, () => deleteConsumer(to, destination.consumers.get(difference.id))),
    );
  }
  // In order, because a child is written after its parent.
  for (const { difference, aspects } of those('provider')) {
    const provider = source.providers.get(difference.id);
    if (!provider || aspects.every((aspect) => aspect === 'generation')) continue;
    await attempt(difference, () => writeProvider(to, provider, destination.providers.get(provider.uuid), names));
  }
  const full: Difference[] = [];
  await mapConcurrently(those('consumer'), IN_FLIGHT, async ({ difference, aspects }) => {
    const consumer = source.consumers.get(difference.id);
    if (!consumer || aspects.every((aspect) => aspect === 'generation')) return;
    const answer = await writeConsumer(to, consumer, destination.consumers.get(consumer.uuid));
    if (doesNotFit(answer)) full.push(difference);
    else await attempt(difference, async () => answer);
  });
  // One after the other: each changes inventories for a moment.
  for (const difference of full) {
    const consumer = source.consumers.get(difference.id);
    const there = destination.consumers.get(difference.id);
    if (consumer) await attempt(difference, () => writeConsumerAboveCapacity(to, consumer, there));
  }
  if (deletesExtra) {
    for (const { difference } of those('provider', true).toReversed()) {
      await attempt(difference, () => request(to, { method: 'DELETE', path: `/resource_providers/${difference.id}` }));
    }
  }
  if (to.isBerth) writes += await raiseGenerations(to, source, those('provider'), those('consumer'));
  return { writes, failures };

  function known(of: 'resource class' | 'trait'): ReadonlySet<string> {
    const failed = new Set(failures.filter((failure) => failure.of === of).map(({ id }) => id));
    const there = of === 'trait' ? destination.traits : destination.resourceClasses;
    return new Set([...there, ...those(of).map(({ difference }) => difference.id)].filter((name) => !failed.has(name)));
  }
}

export const keyOf = ({ of, id }: Pick<Difference, 'of' | 'id'>): string => `${of} ${id}`;

/** Refused, but not because somebody else wrote meanwhile: it does not fit. */
function doesNotFit({ refused }: Written): boolean {
  const { errors: [error] = [] } = (refused?.body ?? {}) as { errors?: { code?: string }[] };
  return refused?.status === 409 && error?.code !== 'placement.concurrent_update';
}

/** Bodies have at most 1,024 entries by default. */
const GENERATIONS_AT_ONCE = 500;

/** Makes generations at least those of the source, so that guards that clients know do not match by accident. */
async function raiseGenerations(
  to: Endpoint,
  source: Snapshot,
  ...differing: readonly (readonly { readonly difference: Difference }[])[]
): Promise<number> {
  const [providers = [], consumers = []] = differing.map((all) => all.map(({ difference }) => difference.id));
  const generationsOf = (ids: readonly string[], of: Snapshot['providers'] | Snapshot['consumers']) =>
    Object.fromEntries(ids.flatMap((id) => of.get(id) ?? []).map(({ uuid, generation }) => [uuid, generation]));
  let writes = 0;
  for (let at = 0; at < Math.max(providers.length, consumers.length); at += GENERATIONS_AT_ONCE) {
    const body = {
      resource_providers: generationsOf(providers.slice(at, at + GENERATIONS_AT_ONCE), source.providers),
      consumers: generationsOf(consumers.slice(at, at + GENERATIONS_AT_ONCE), source.consumers),
    };
    const { refused } = await request(to, { method: 'POST', path: '/berth/generations', body });
    if (refused) throw refusal(refused.status, refused.body, to.url);
    writes++;
  }
  return writes;
}
