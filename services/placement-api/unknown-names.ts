import type { Provider } from '#libs/domain/provider';
import type { RequestGroup } from '#libs/domain/request-spec';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { CandidateQuery } from '#libs/placement/search/query';
import { badRequest } from './http/http-error';
import type { Wanted } from './query-values';

/*
 * An unknown name is an error of the client's. But Placement looks names up one filter after the other, and stops with an
 * empty answer when a filter leaves nothing: then a later unknown name is no error. This module keeps that order.
 */

/** The filters of GET /resource_providers, except those by identity. */
export interface ProviderFilters {
  readonly inTree: string | undefined;
  readonly traits: Wanted;
  readonly aggregates: Wanted;
  readonly resources: Readonly<Record<string, number>>;
}

/** False when no provider can match. @throws HttpError 400 for the first unknown name, in Placement's order. */
export function knowsNames(view: PlacementView, filters: ProviderFilters): boolean {
  const { inTree, traits, aggregates, resources } = filters;
  const prefix = 'Invalid trait(s) in "required" parameter: ';
  if (inTree !== undefined && !view.provider(inTree)) return false;
  requireTraits(view, traits.required.flat(), prefix);
  if (!isMetBySome(view, traits.required, (provider) => provider.traits)) return false;
  requireTraits(view, traits.forbidden, prefix);
  if (!isMetBySome(view, aggregates.required, (provider) => provider.aggregates)) return false;
  requireClasses(view, resources);
  return true;
}

/**
 * False when there can be no candidate. `isMet` tells whether one group alone has a candidate.
 *
 * @throws HttpError 400 for the first unknown name, in Placement's order.
 */
export function knowsNamesOf(
  view: PlacementView,
  query: CandidateQuery,
  isMet: (group: RequestGroup) => boolean,
): boolean {
  const { groups, rootRequiredTraits, rootForbiddenTraits } = query;
  requireTraits(view, [...rootRequiredTraits, ...rootForbiddenTraits]);
  if (groups.every((group) => hasKnownNames(view, group))) return true;
  if (rootRequiredTraits.length + rootForbiddenTraits.length > 0 && !hasRoot(view, query)) return false;
  for (const group of groups) {
    requireClasses(view, group.resources);
    if (!isMetBySome(view, group.memberOf, (provider) => provider.aggregates)) return false;
    requireTraits(view, [...group.requiredTraits.flat(), ...group.forbiddenTraits]);
    if (!isMet(group)) return false;
  }
  return true;
}

function hasRoot(view: PlacementView, { rootRequiredTraits, rootForbiddenTraits }: CandidateQuery): boolean {
  for (const { uuid, rootUuid, traits } of view.providers()) {
    const isForbidden = rootForbiddenTraits.some((trait) => traits.includes(trait));
    if (uuid === rootUuid && !isForbidden && rootRequiredTraits.every((trait) => traits.includes(trait))) return true;
  }
  return false;
}

function hasKnownNames(view: PlacementView, { resources, requiredTraits, forbiddenTraits }: RequestGroup): boolean {
  return (
    unknownClass(view, Object.keys(resources)) === undefined &&
    [...requiredTraits.flat(), ...forbiddenTraits].every((name) => view.hasTrait(name))
  );
}

function isMetBySome(
  view: PlacementView,
  wanted: readonly (readonly string[])[],
  namesOf: (provider: Provider) => readonly string[],
): boolean {
  if (wanted.length === 0) return true;
  const sets = wanted.map((anyOf) => new Set(anyOf));
  for (const provider of view.providers()) {
    const names = namesOf(provider);
    if (sets.every((anyOf) => names.some((name) => anyOf.has(name)))) return true;
  }
  return false;
}

function requireClasses(view: PlacementView, resources: Readonly<Record<string, number>>): void {
  const unknown = unknownClass(view, Object.keys(resources));
  if (unknown === undefined) return;
  throw badRequest(`Invalid resource class in resources parameter: No such resource class ${unknown}.`);
}

function requireTraits(view: PlacementView, traits: readonly string[], prefix = ''): void {
  const unknown = traits.find((name) => !view.hasTrait(name));
  if (unknown !== undefined) throw badRequest(`${prefix}No such trait(s): ${unknown}.`);
}

/** The first unknown class. */
export function unknownClass(view: PlacementView, classes: readonly string[]): string | undefined {
  return classes.find((resourceClass) => !view.hasResourceClass(resourceClass));
}
