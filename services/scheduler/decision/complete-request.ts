import { isDeepStrictEqual } from 'node:util';
import type { Move } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import type { ResolvedSpec } from '#libs/domain/extra-specs/resolve';
import type { Resources } from '#libs/domain/inventory';
import type { AlternatesHeld } from '#libs/domain/queueing/place-lease';
import type { ComingUse } from '#libs/domain/queueing/reservation';
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

function rulesOf({ policy, maxPerHost, spread, within }: GroupRules): GroupRules {
  return { policy, maxPerHost, spread, within };
}

function noSuchGroup(projectId: string, id: string): BerthError {
  const message = `project '${projectId}' has no group '${id}': create it, or say its policy`;
  return new BerthError('not_found', 'no_such_group', message, { details: { group: id } });
}

/** Instances of a gang with a spec of their own. */
export interface RequestKind extends CompleteRequest {
  readonly instanceUuids: readonly string[];
  readonly minCount?: number | undefined;
}

/** The window of a reservation's unit, and the providers on which something ends by itself. */
export interface UnitWindow extends ComingUse {
  readonly endingOn: ReadonlySet<string>;
}

/** A request to decide: a host for each instance, and alternates. */
export interface SelectRequest extends CompleteRequest {
  readonly requestId: string;
  readonly instanceUuids: readonly string[];
  readonly numAlternates: number;
  /** So many are enough when not all find a host; 0, or not given, for all or none. */
  readonly minCount?: number | undefined;
  readonly priority?: number | undefined;
  readonly isProtected?: boolean | undefined;
  /** When there is no host: say whose place it could take. */
  readonly mayPreempt?: boolean | undefined;
  /** Form in which alternates are held. */
  readonly alternatesHeld?: AlternatesHeld | undefined;
  /** Each host that is selected is asked before the answer. */
  readonly confirmsHost?: boolean | undefined;
  /** Time from the first ACTIVE until its instances end; undefined: they last. */
  readonly timeLimitMs?: number | undefined;
  /** The time by which they have ended, as reservations count on it. */
  readonly endsAtMs?: number | undefined;
  /** The window of a unit, where no claim is asked for. */
  readonly window?: UnitWindow | undefined;
  /** For one instance that holds a claim already: the claim passes to a migration. */
  readonly move?: Move | undefined;
  /** Members of its affinity group, itself among them, that leave their host in one commit. */
  readonly together?: ReadonlySet<string> | undefined;
  /** Further kinds of a gang, placed after these, in one decision. */
  readonly furtherKinds?: readonly RequestKind[] | undefined;
  /** Amounts that kinds decided before are about to take: they count in the quota. */
  readonly besides?: Resources | undefined;
}
