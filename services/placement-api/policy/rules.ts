/**
 * The rules of Placement's API by their public names, without the prefix `placement:`, and what they permit. By default
 * the roles admin and service pass each; `policy.ts` has the exceptions.
 */
export const RULES = {
  'resource_providers:list': 'See all providers',
  'resource_providers:create': 'Make a provider',
  'resource_providers:show': 'See a provider',
  'resource_providers:update': 'Rename or move a provider',
  'resource_providers:delete': 'Remove a provider',
  'resource_classes:list': 'See all resource classes',
  'resource_classes:create': 'Make a resource class',
  'resource_classes:show': 'See a resource class',
  'resource_classes:update': 'Make or rename a resource class',
  'resource_classes:delete': 'Remove a resource class',
  'resource_providers:inventories:list': 'See the inventories of a provider',
  'resource_providers:inventories:create': 'Add an inventory to a provider',
  'resource_providers:inventories:show': 'See one inventory of a provider',
  'resource_providers:inventories:update': 'Replace inventories of a provider, one or all',
  'resource_providers:inventories:delete': 'Remove inventories of a provider, one or all',
  'resource_providers:aggregates:list': 'See the aggregates of a provider',
  'resource_providers:aggregates:update': 'Replace the aggregates of a provider',
  'resource_providers:usages': 'See how much of a provider is used',
  usages: 'See how much a project uses',
  'traits:list': 'See all traits',
  'traits:show': 'See whether a trait exists',
  'traits:update': 'Make a trait',
  'traits:delete': 'Remove a trait',
  'resource_providers:traits:list': 'See the traits of a provider',
  'resource_providers:traits:update': 'Replace the traits of a provider',
  'resource_providers:traits:delete': 'Remove all traits of a provider',
  'allocations:manage': 'Replace allocations of several consumers at once',
  'allocations:list': 'See the allocations of a consumer',
  'allocations:update': 'Replace the allocations of a consumer',
  'allocations:delete': 'Remove the allocations of a consumer',
  'resource_providers:allocations:list': 'See the allocations from a provider',
  'allocation_candidates:list': 'Ask where a request would fit',
  'reshaper:reshape': 'Move inventories and their allocations between providers',
} as const;

export type RuleName = keyof typeof RULES;
