/**
 * The rules of Placement's API by their public names, with the defaults since Placement's role `service` replaced system
 * scope: admin or service, unless stated. `policy.ts` has the older defaults, by which the role admin passes every rule.
 */
export const RULES = {
  'placement:resource_providers:list': rule('See all providers', 'GET /resource_providers'),
  'placement:resource_providers:create': rule('Make a provider', 'POST /resource_providers'),
  'placement:resource_providers:show': rule('See a provider', 'GET /resource_providers/{uuid}'),
  'placement:resource_providers:update': rule('Rename or move a provider', 'PUT /resource_providers/{uuid}'),
  'placement:resource_providers:delete': rule('Remove a provider', 'DELETE /resource_providers/{uuid}'),
  'placement:resource_classes:list': rule('See all resource classes', 'GET /resource_classes'),
  'placement:resource_classes:create': rule('Make a resource class', 'POST /resource_classes'),
  'placement:resource_classes:show': rule('See a resource class', 'GET /resource_classes/{name}'),
  'placement:resource_classes:update': rule('Make or rename a resource class', 'PUT /resource_classes/{name}'),
  'placement:resource_classes:delete': rule('Remove a resource class', 'DELETE /resource_classes/{name}'),
  'placement:resource_providers:inventories:list': rule(
    'See the inventories of a provider',
    'GET /resource_providers/{uuid}/inventories',
  ),
  'placement:resource_providers:inventories:create': rule(
    'Add an inventory to a provider',
    'POST /resource_providers/{uuid}/inventories',
  ),
  'placement:resource_providers:inventories:show': rule(
    'See one inventory of a provider',
    'GET /resource_providers/{uuid}/inventories/{resource_class}',
  ),
  'placement:resource_providers:inventories:update': rule(
    'Replace inventories of a provider, one or all',
    'PUT /resource_providers/{uuid}/inventories',
    'PUT /resource_providers/{uuid}/inventories/{resource_class}',
  ),
  'placement:resource_providers:inventories:delete': rule(
    'Remove inventories of a provider, one or all',
    'DELETE /resource_providers/{uuid}/inventories',
    'DELETE /resource_providers/{uuid}/inventories/{resource_class}',
  ),
  'placement:resource_providers:aggregates:list': rule(
    'See the aggregates of a provider',
    'GET /resource_providers/{uuid}/aggregates',
  ),
  'placement:resource_providers:aggregates:update': rule(
    'Replace the aggregates of a provider',
    'PUT /resource_providers/{uuid}/aggregates',
  ),
  'placement:resource_providers:usages': rule(
    'See how much of a provider is used',
    'GET /resource_providers/{uuid}/usages',
  ),
  'placement:usages': {
    ...rule('See how much a project uses', 'GET /usages'),
    allowed: 'admin_or_service_or_project_reader',
  },
  'placement:traits:list': rule('See all traits', 'GET /traits'),
  'placement:traits:show': rule('See whether a trait exists', 'GET /traits/{name}'),
  'placement:traits:update': rule('Make a trait', 'PUT /traits/{name}'),
  'placement:traits:delete': rule('Remove a trait', 'DELETE /traits/{name}'),
  'placement:resource_providers:traits:list': rule(
    'See the traits of a provider',
    'GET /resource_providers/{uuid}/traits',
  ),
  'placement:resource_providers:traits:update': rule(
    'Replace the traits of a provider',
    'PUT /resource_providers/{uuid}/traits',
  ),
  'placement:resource_providers:traits:delete': rule(
    'Remove all traits of a provider',
    'DELETE /resource_providers/{uuid}/traits',
  ),
  'placement:allocations:manage': rule('Replace allocations of several consumers at once', 'POST /allocations'),
  'placement:allocations:list': rule('See the allocations of a consumer', 'GET /allocations/{consumer_uuid}'),
  'placement:allocations:update': rule('Replace the allocations of a consumer', 'PUT /allocations/{consumer_uuid}'),
  'placement:allocations:delete': rule('Remove the allocations of a consumer', 'DELETE /allocations/{consumer_uuid}'),
  'placement:resource_providers:allocations:list': rule(
    'See the allocations from a provider',
    'GET /resource_providers/{uuid}/allocations',
  ),
  'placement:allocation_candidates:list': rule('Ask where a request would fit', 'GET /allocation_candidates'),
  'placement:reshaper:reshape': {
    ...rule('Move inventories and their allocations between providers', 'POST /reshaper'),
    allowed: 'service',
  },
} as const satisfies Record<string, Rule>;

export type RuleName = keyof typeof RULES;

/** By role; a project reader has the role reader in the project that is asked about. */
export type Allowed = 'admin_or_service' | 'admin_or_service_or_project_reader' | 'service';

export interface Rule {
  readonly allowed: Allowed;
  readonly description: string;
  /** `GET /resource_providers/{uuid}`: the routes that check it. */
  readonly operations: readonly string[];
}

function rule(description: string, ...operations: string[]): Rule {
  return { allowed: 'admin_or_service', description, operations };
}

const BY_OPERATION = new Map(
  Object.entries(RULES).flatMap(([name, { operations }]) =>
    operations.map((operation) => [operation, name as RuleName] as const),
  ),
);

/** The rule that an operation such as `GET /usages` checks; undefined for one that everyone may use. */
export function ruleOf(operation: string): RuleName | undefined {
  return BY_OPERATION.get(operation);
}
