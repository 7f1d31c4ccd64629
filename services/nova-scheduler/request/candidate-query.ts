import type { CandidateQuery } from '#libs/placement/search/query';
import type { NovaAggregate } from '../facts/nova-facts';
import type { GroupObject } from '../objects/tables';
import { malformed } from '../objects/versioned-object';
import { addHardwareWishes, addPinning } from './hardware-wishes';
import { type ImageTraitSettings, rootTraitsFor } from './image-traits';
import { NoHost } from './no-host';
import type { NovaRequest } from './nova-request';
import { aggregateNeeds, type PrefilterSettings } from './prefilters';
import { ResourceGroups } from './resource-groups';

export interface QuerySettings extends ImageTraitSettings, PrefilterSettings {
  readonly maxRequestGroups: number;
}

/** Context of a request's translation. */
export interface QueryContext {
  readonly aggregates: readonly NovaAggregate[];
  /** The provider of the one compute node that the request names; undefined for any. */
  readonly inTree: string | undefined;
  readonly settings: QuerySettings;
  /** True when pinned processors are PCPU; false for hosts that report none, where they are VCPU. */
  readonly isPinningTranslated: boolean;
}

/** A compute node that its service disabled has it. */
const DISABLED_TRAIT = 'COMPUTE_STATUS_DISABLED';

/**
 * The query by which a request finds allocation candidates: what a stock scheduler asks Placement for (its `ResourceRequest` and
 * request filters).
 *
 * @throws NoHost when aggregates are required for tenants, or two groups of the flavor have no group policy
 */
export function candidateQueryOf(request: NovaRequest, context: QueryContext): CandidateQuery {
  const { settings, inTree } = context;
  const { spec } = request;
  const groups = new ResourceGroups();
  groups.addExtraSpecs(request.extraSpecs);
  const fromFlavor = groups.suffixedCount;
  for (const trait of spec.image?.properties?.traits_required ?? []) groups.group().required.add(trait);
  if (context.isPinningTranslated) addPinning(request, groups);
  (spec.requested_resources ?? []).forEach((group, i) => addGroup(group, groups, `requested_resources[${i}]`));
  if (groups.suffixedCount > settings.maxRequestGroups)
    throw new NoHost(`The request has ${groups.suffixedCount} request groups, at most ${settings.maxRequestGroups}.`);
  addFlavorAmounts(request, groups);
  addHardwareWishes(request, groups, settings.release);
  const needs = aggregateNeeds(request, groups.requiredTraits, context.aggregates, settings);
  const own = groups.group();
  const asked = (spec.requested_destination?.aggregates ?? []).map((anyOf) => anyOf.split(','));
  own.memberOf = [...asked, ...needs.memberOf];
  for (const uuid of [...(spec.requested_destination?.forbidden_aggregates ?? []), ...needs.forbidden])
    own.forbiddenAggregates.add(uuid);
  own.inTree = inTree;
  return {
    groups: groups.toList(),
    groupPolicy: groups.groupPolicy ?? defaultPolicy(groups, fromFlavor),
    sameSubtrees: spec.request_level_params?.same_subtree ?? [],
    rootRequiredTraits: [
      ...new Set([...(spec.request_level_params?.root_required ?? []), ...rootTraitsFor(request, settings)]),
    ],
    rootForbiddenTraits: [...new Set([...(spec.request_level_params?.root_forbidden ?? []), DISABLED_TRAIT])],
  };
}

function defaultPolicy(groups: ResourceGroups, fromFlavor: number): 'none' {
  if (groups.suffixedCount >= 2 && fromFlavor > 1)
    throw new NoHost('The flavor has more than one numbered request group and no group_policy.');
  return 'none';
}

/** VCPU, MEMORY_MB and DISK_GB of the flavor, unless extra specs say otherwise. */
function addFlavorAmounts({ spec }: NovaRequest, groups: ResourceGroups): void {
  const { flavor } = spec;
  if (flavor === undefined) throw malformed('spec_obj.flavor', 'is missing');
  const { vcpus = 0, memory_mb: memoryMb = 0, root_gb: rootGb = 0, ephemeral_gb: ephemeralGb = 0, swap = 0 } = flavor;
  if (!groups.asksFor('VCPU') && !groups.asksFor('PCPU')) groups.addResource('VCPU', vcpus);
  if (!groups.asksFor('MEMORY_MB')) groups.addResource('MEMORY_MB', memoryMb);
  const diskGb = ephemeralGb + Math.ceil(swap / 1_024) + (spec.is_bfv ? 0 : rootGb);
  if (!groups.asksFor('DISK_GB') && diskGb > 0) groups.addResource('DISK_GB', diskGb);
}

/** A group from outside of the flavor: of a port, a device profile, a PCI request. */
function addGroup(group: GroupObject, groups: ResourceGroups, path: string): void {
  const suffix = group.requester_id;
  if (suffix === undefined || suffix === '') throw malformed(path, 'has no requester_id');
  if (groups.has(suffix)) throw malformed(path, `has the requester_id of another group: ${suffix}`);
  const draft = groups.group(suffix);
  for (const [name, amount] of group.resources ?? []) draft.resources.set(name, amount);
  for (const trait of group.required_traits ?? []) draft.required.add(trait);
  for (const trait of group.forbidden_traits ?? []) draft.forbidden.add(trait);
  draft.memberOf = group.aggregates ?? [];
  for (const uuid of group.forbidden_aggregates ?? []) draft.forbiddenAggregates.add(uuid);
  draft.inTree = group.in_tree;
}
