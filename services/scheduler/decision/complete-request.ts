import { isDeepStrictEqual } from 'node:util';
import { BerthError } from '#libs/domain/errors';
import type { ResolvedSpec } from '#libs/domain/extra-specs/resolve';
import { type GroupRules, type ServerGroup, storedGroupKey } from '#libs/domain/server-group';
import type { Fleet } from '../fleet/fleet';
import { type ClassifiedSpec, type EquivalenceClass, forTenant } from '../request/equivalence-class';

/** A request spec whose group has its rules. */
export interface CompleteSpec extends ResolvedSpec {
  readonly group: ServerGroup | undefined;
}

/** A request with all that the store says of it. */
export interface CompleteRequest {
  readonly spec: CompleteSpec;
  readonly equivalenceClass: EquivalenceClass;
}

/**
 * A request with what stands in the store: the rules of the group that it names, and whether there are aggregates for its
 * project.
 *
 * @throws BerthError `not_found / no_such_group` for a group that is named without rules and that its project does not
 *   have; `failed_precondition / group_rules_differ` when the request says other rules than the stored group's.
 */
export function completeRequest({ spec, equivalenceClass }: ClassifiedSpec, fleet: Fleet): CompleteRequest {
  const { projectId, group } = spec;
  return {
    // Most requests are of no group: theirs are not copied.
    spec: group ? { ...spec, group: withRules(group, projectId, fleet) } : (spec as CompleteSpec),
    equivalenceClass: fleet.isTenant(projectId) ? forTenant(equivalenceClass, projectId) : equivalenceClass,
  };
}

/** True if the mirror does not (yet) show the group that the request names. */
export function lacksGroup({ spec: { group, projectId } }: ClassifiedSpec, { view }: Fleet): boolean {
  return group?.policy === undefined && group !== undefined && !view.serverGroup(storedGroupKey(projectId, group.id));
}

function withRules(named: NonNullable<ResolvedSpec['group']>, projectId: string, { view }: Fleet): ServerGroup {
  const { id } = named;
  const stored = view.serverGroup(storedGroupKey(projectId, id));
  if (named.policy === undefined) {
    if (!stored) throw noSuchGroup(projectId, id);
    return { id, ...rulesOf(stored) };
  }
  if (stored && !isDeepStrictEqual(rulesOf(stored), rulesOf(named))) {
    const message = `group '${id}' of project '${projectId}' is stored as ${stored.policy}: name it without a policy`;
    throw new BerthError('failed_precondition', 'group_rules_differ', message, { details: { group: id } });
  }
  return named;
}

function rulesOf({ policy, maxPerHost, spread }: GroupRules): GroupRules {
  return { policy, maxPerHost, spread };
}

function noSuchGroup(projectId: string, id: string): BerthError {
  const message = `project '${projectId}' has no group '${id}': create it, or say its policy`;
  return new BerthError('not_found', 'no_such_group', message, { details: { group: id } });
}
