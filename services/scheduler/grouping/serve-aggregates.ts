import { answer } from '#libs/bus/typed-calls';
import {
  type AggregateAnswer,
  type AggregateView,
  addAggregateHostMethod,
  createAggregateMethod,
  deleteAggregateMethod,
  listAggregatesMethod,
  removeAggregateHostMethod,
  updateAggregateMethod,
} from '#libs/contracts/aggregates';
import { MAX_NAMES } from '#libs/contracts/limits';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import type { Aggregate } from '#libs/domain/grouping/aggregate';
import { commitGrouping, type GroupingDeps } from '#libs/fleet-settings/commit-grouping';
import type { AggregateCommand } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { isProfile, PROFILE_KEY, PROFILES } from '../weighers/profiles';

/**
 * The calls about host aggregates, for operators.
 *
 * @throws BerthError `not_found / no_such_aggregate`, `no_such_host`; `already_exists / aggregate_exists`;
 *   `failed_precondition / other_zone`, `host_in_use`, `aggregate_in_use`; `resource_exhausted / too_many_aggregates`;
 *   `invalid_argument / bad_multiplier`.
 */
export function aggregateCalls(deps: GroupingDeps) {
  const { mirror } = deps;
  const commit = async (uuid: string, command: AggregateCommand): Promise<AggregateAnswer> => {
    const before = mirror.aggregate(uuid);
    await commitGrouping(command, deps);
    return { aggregate: viewOf(mirror, (mirror.aggregate(uuid) ?? before) as Aggregate) };
  };
  const find = (text: string) => requireAggregate(text, deps);
  return {
    ...answer(listAggregatesMethod, async ({ aggregate: text }) => {
      if (text !== '') {
        const found = await find(text);
        return {
          aggregates: [viewOf(mirror, found)],
          hosts: [...mirror.hostsIn(found.uuid)].sort().slice(0, MAX_NAMES),
        };
      }
      const all = [...mirror.aggregates()].sort((a, b) => (a.name < b.name ? -1 : 1));
      return { aggregates: all.map((one) => viewOf(mirror, one)), hosts: [] };
    }),
    ...answer(createAggregateMethod, (request) => {
      checkWeighing(request.metadata);
      return commit(request.uuid, { kind: 'create_aggregate', ...request });
    }),
    ...answer(updateAggregateMethod, async ({ aggregate, name, setMetadata, unsetMetadata }) => {
      checkWeighing(setMetadata);
      const { uuid } = await find(aggregate);
      const change = { name: name === '' ? undefined : name, set: setMetadata, unset: unsetMetadata };
      return commit(uuid, { kind: 'update_aggregate', uuid, ...change });
    }),
    ...answer(addAggregateHostMethod, async ({ aggregate, host }) => {
      const { uuid } = await find(aggregate);
      return commit(uuid, { kind: 'add_aggregate_host', uuid, host });
    }),
    ...answer(removeAggregateHostMethod, async ({ aggregate, host }) => {
      const { uuid } = await find(aggregate);
      return commit(uuid, { kind: 'remove_aggregate_host', uuid, host });
    }),
    ...answer(deleteAggregateMethod, async ({ aggregate }) => {
      const { uuid } = await find(aggregate);
      return commit(uuid, { kind: 'delete_aggregate', uuid });
    }),
  };
}

/** By uuid or name, once more when another scheduler may have created it just now. */
async function requireAggregate(text: string, { mirror, catchUp }: GroupingDeps): Promise<Aggregate> {
  const find = () => mirror.aggregate(text) ?? [...mirror.aggregates()].find(({ name }) => name === text);
  const found = find() ?? (await catchUp(), find());
  if (found) return found;
  const details = { details: { aggregate: text } };
  throw new BerthError('not_found', 'no_such_aggregate', `there is no aggregate '${text}'`, details);
}

function viewOf(view: PlacementView, aggregate: Aggregate): AggregateView {
  const { uuid, name, metadata, createdAtMs, updatedAtMs } = aggregate;
  return { uuid, name, metadata, createdAtMs, updatedAtMs, hostCount: view.hostsIn(uuid).size };
}

const MULTIPLIER = '_weight_multiplier';
const MOST = 1_000;

/** A weight that is no number, or a profile that is none, would be ignored in every decision. */
function checkWeighing(metadata: Aggregate['metadata']): void {
  for (const [key, value] of Object.entries(metadata)) {
    if (key === PROFILE_KEY && !isProfile(value)) {
      const message = `metadata ${key} must be one of ${PROFILES.join(', ')}, not '${value}'`;
      throw invalidArgument('bad_profile', message, `metadata.${key}`);
    }
    if (!key.endsWith(MULTIPLIER) || Math.abs(Number(value)) <= MOST) continue;
    const message = `metadata ${key} must be a number from -${MOST} to ${MOST}, not '${value}'`;
    throw invalidArgument('bad_multiplier', message, `metadata.${key}`);
  }
}
