/**
 * The rules of Placement's API by their public names: who may do what by the new defaults of the Placement whose role
 * `service` took the place of system scope. `policy.ts` tells when the role admin is enough.
 */
export const RULES = {
  'placement:resource_providers:list': rule('admin_or_service', 'See all providers', 'GET /resource_providers'),
  'placement:resource_providers:create': rule('admin_or_service', 'Make a provider', 'POST /resource_providers'),
  'placement:resource_providers:show': rule('admin_or_service', 'See a provider', 'GET /resource_providers/{uuid}'),
  'placement:resource_providers:update': rule(
    'admin_or_service',
    'Rename or move a provider',
    'PUT /resource_providers/{uuid}',
  ),
  'placement:resource_providers:delete': rule(
    'admin_or_service',
    'Remove a provider',
    'DELETE /resource_providers/{uuid}',
  ),
  'placement:resource_classes:list': rule('admin_or_service', 'See all resource classes', 'GET /resource_classes'),
  'placement:resource_classes:create': rule('admin_or_service', 'Make a resource class', 'POST /resource_classes'),
  'placement:resource_classes:show': rule('admin_or_service', 'See a resource class', 'GET /resource_classes/{name}'),
  'placement:resource_classes:update': rule(
    'admin_or_service',
    'Make or rename a resource class',
    'PUT /resource_classes/{name}',
  ),
  'placement:resource_classes:delete': rule(
    'admin_or_service',
    'Remove a resource class',
    'DELETE /resource_classes/{name}',
  ),
  'placement:resource_providers:inventories:list': rule(
    'admin_or_service',
    'See the inventories of a provider',
    'GET /resource_providers/{uuid}/inventories',
  ),
  'placement:resource_providers:inventories:create': rule(
    'admin_or_service',
    'Add an inventory to a provider',
    'POST /resource_providers/{uuid}/inventories',
  ),
  'placement:resource_providers:inventories:show': rule(
    'admin_or_service',
    'See one inventory of a provider',
    'GET /resource_providers/{uuid}/inventories/{resource_class}',
  ),
  'placement:resource_providers:inventories:update': rule(
    'admin_or_service',
    'Replace inventories of a provider, one or all',
    'PUT /resource_providers/{uuid}/inventories',
    'PUT /resource_providers/{uuid}/inventories/{resource_class}',
  ),
  'placement:resource_providers:inventories:delete': rule(
    'admin_or_service',
    'Remove inventories of a provider, one or all',
    'DELETE /resource_providers/{uuid}/inventories',
    'DELETE /resource_providers/{uuid}/inventories/{resource_class}',
  ),
  'placement:resource_providers:aggregates:list': rule(
    'admin_or_service',
    'See the aggregates of a provider',
    'GET /resource_providers/{uuid}/aggregates',
  ),
  'placement:resource_providers:aggregates:update': rule(
    'admin_or_service',
    'Replace the aggregates of a provider',
    'PUT /resource_providers/{uuid}/aggregates',
  ),
  'placement:resource_providers:usages': rule(
    'admin_or_service',
    'See how much of a provider is used',
    'GET /resource_providers/{uuid}/usages',
  ),
  'placement:usages': rule('admin_or_service_or_project_reader', 'See how much a project uses', 'GET /usages'),
  'placement:traits:list': rule('admin_or_service', 'See all traits', 'GET /traits'),
  'placement:traits:show': rule('admin_or_service', 'See whether a trait exists', 'GET /traits/{name}'),
  'placement:traits:update': rule('admin_or_service', 'Make a trait', 'PUT /traits/{name}'),
  'placement:traits:delete': rule('admin_or_service', 'Remove a trait', 'DELETE /traits/{name}'),
  'placement:resource_providers:traits:list': rule(
    'admin_or_service',
    'See the traits of a provider',
    'GET /resource_providers/{uuid}/traits',
  ),
  'placement:resource_providers:traits:update': rule(
    'admin_or_service',
    'Replace the traits of a provider',
    'PUT /resource_providers/{uuid}/traits',
  ),
  'placement:resource_providers:traits:delete': rule(
    'admin_or_service',
    'Remove all traits of a provider',
    'DELETE /resource_providers/{uuid}/traits',
  ),
  'placement:allocations:manage': rule(
    'admin_or_service',
    'Replace allocations of several consumers at once',
    'POST /allocations',
  ),
  'placement:allocations:list': rule(
    'admin_or_service',
    'See the allocations of a consumer',
    'GET /allocations/{consumer_uuid}',
  ),
  'placement:allocations:update': rule(
    'admin_or_service',
    'Replace the allocations of a consumer',
    'PUT /allocations/{consumer_uuid}',
  ),
  'placement:allocations:delete': rule(
    'admin_or_service',
    'Remove the allocations of a consumer',
    'DELETE /allocations/{consumer_uuid}',
  ),
  'placement:resource_providers:allocations:list': rule(
    'admin_or_service',
    'See the allocations from a provider',
    'GET /resource_providers/{uuid}/allocations',
  ),
  'placement:allocation_candidates:list': rule(
    'admin_or_service',
    'Ask where a request would fit',
    'GET /allocation_candidates',
  ),
  'placement:reshaper:reshape': rule(
    'service',
    'Move inventories and their allocations between providers',
    'POST /reshaper',
  ),
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

function rule(allowed: Allowed, description: string, ...operations: string[]): Rule {
  return { allowed, description, operations };
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
