import type { RequestSpec } from '#libs/domain/request-spec';
import type { StoreImage } from '#libs/placement/port/placement-store';

/*
 * Checks that a refusal was right, from the rows of the store alone. It shares no code with the filters, so that it finds their defects: it
 * restates in short the meaning of each reason, and confirms none that it does not know.
 */

/** A refusal with its proof: each host under one reason. */
export interface RefusalCertificate {
  readonly format: typeof CERTIFICATE_FORMAT;
  readonly madeAtMs: number;
  readonly request: RequestSpec;
  readonly refusals: readonly Refusal[];
}

/** Hosts under one reason; `refusedAlone` is one of them that no other reason of the certificate refuses. */
export interface Refusal {
  readonly reason: string;
  readonly hosts: readonly string[];
  readonly refusedAlone: string;
}

export const CERTIFICATE_FORMAT = 'berth-refusal-1';

export interface Verification {
  /** Hosts that the snapshot has. */
  readonly hostCount: number;
  /** Reasons why the certificate proves nothing; empty when it holds. */
  readonly problems: readonly string[];
}

/** The fields of a provider's row that are read. */
interface ProviderRow {
  readonly uuid: string;
  readonly inventories: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
}

/** A host with the providers behind it: its tree, and those that share with it. */
interface Behind {
  readonly row: Readonly<Record<string, unknown>>;
  readonly root: ProviderRow;
  readonly tree: readonly ProviderRow[];
  readonly shared: readonly ProviderRow[];
  /** Metadata of its host aggregates. */
  readonly metadata: readonly Readonly<Record<string, string>>[];
}

type Used = ReadonlyMap<string, Readonly<Record<string, number>>>;
/** Undefined when the rows can't say. */
type Holds = boolean | undefined;

/** Checks a certificate against a snapshot of the same time or later; a change since then is a problem. */
export function verifyRefusal(certificate: RefusalCertificate, image: StoreImage): Verification {
  const { request, refusals } = certificate;
  const hosts = hostsBehind(image);
  const used = usedBy(image);
  const problems = [...unsupported(request)];
  if (hosts.size === 0) problems.push('the snapshot has no hosts');
  const seen = new Set<string>();
  for (const { reason, hosts: names } of refusals) {
    for (const name of names) {
      const behind = hosts.get(name);
      if (behind === undefined) problems.push(`${name} is not in the snapshot`);
      else if (seen.has(name)) problems.push(`${name} is there twice`);
      else if (holds(reason, request, behind, used) !== true) problems.push(`${reason} does not refuse ${name}`);
      seen.add(name);
    }
  }
  for (const name of hosts.keys()) if (!seen.has(name)) problems.push(`nothing refuses ${name}`);
  for (const { reason, hosts: names, refusedAlone } of refusals) {
    const behind = hosts.get(refusedAlone);
    if (behind === undefined || !names.includes(refusedAlone)) {
      problems.push(`${reason} may be left out: no host is refused by it alone`);
      continue;
    }
    const others = refusals.filter((other) => other.reason !== reason);
    const too = others.find((other) => mayRefuse(other.reason, request, behind, used));
    if (too !== undefined) problems.push(`${reason} may be left out: ${too.reason} refuses ${refusedAlone}, too`);
  }
  if (new Set(refusals.map(({ reason }) => reason)).size < refusals.length) problems.push('a reason is there twice');
  return { hostCount: hosts.size, problems };
}

/**
 * True if a reason may refuse a host, too. Where several providers stand behind a host, the filter sees only their sum; the search then
 * decides which one gives an amount and lacks the forbidden traits.
 */
function mayRefuse(reason: string, request: RequestSpec, behind: Behind, used: Used): boolean {
  const isSieved = behind.tree.length + behind.shared.length > 1 && SIEVED.test(reason);
  return !isSieved && holds(reason, request, behind, used) !== false;
}

/** Parts of a request that change its amounts and traits, so that it can't be verified. */
function unsupported({ extraSpecs, imageProperties, requestGroups, flavor }: RequestSpec): readonly string[] {
  const parts = [
    ...(Object.keys(extraSpecs).length > 0 ? ['extra specs'] : []),
    ...Object.keys(imageProperties).filter((name) => ASKING_PROPERTY.test(name)),
    ...(requestGroups.length > 0 ? ['request groups'] : []),
    ...(flavor?.version === 0 ? ['a flavor that is not filled in'] : []),
  ];
  return parts.map((part) => `it asks for ${part}, which can not be verified`);
}

/** Image properties that ask as extra specs do; that of an architecture only compares. */
const ASKING_PROPERTY = /^hw_(cpu|pci)_/;
const SIEVED = /^(no_inventory|capacity|min_unit|max_unit|step_size|forbidden_trait)_/;
const CAPACITY = /^(no_inventory|capacity|min_unit|max_unit|step_size)_(.+)$/;
const TRAIT = /^(missing|forbidden)_(root_)?trait_(.+)$/;

function holds(reason: string, request: RequestSpec, behind: Behind, used: Used): Holds {
  const { row, root, tree, shared, metadata } = behind;
  const [, rule = '', resourceClass = ''] = CAPACITY.exec(reason) ?? [];
  if (rule !== '') return capacityHolds({ rule, resourceClass }, request, [...tree, ...shared], used);
  const [, kind = '', onRoot, trait = ''] = TRAIT.exec(reason) ?? [];
  if (kind !== '') {
    const asked = onRoot ? (kind === 'missing' ? request.rootRequiredTraits : request.rootForbiddenTraits) : undefined;
    const wanted = asked ?? (kind === 'missing' ? request.requiredTraits : request.forbiddenTraits);
    if (!wanted.some((one) => one.toLowerCase() === trait)) return false;
    // A provider that is not used may have the trait.
    if (kind === 'forbidden' && !onRoot && tree.length + shared.length > 1) return undefined;
    const has = (onRoot ? [root] : [...tree, ...shared]).some((one) =>
      one.traits.some((its) => its.toLowerCase() === trait),
    );
    return has === (kind === 'forbidden');
  }
  switch (reason) {
    case 'host_down':
      return row['up'] === false;
    case 'host_disabled':
      return row['enabled'] === false;
    case 'other_availability_zone': {
      const zone = metadata.map((one) => one['availability_zone']).find((one) => one !== undefined) ?? 'nova';
      return request.availabilityZone !== undefined && zone !== request.availabilityZone;
    }
    case 'other_tenant': {
      const entries = metadata.flatMap((one) => Object.entries(one));
      const lists = entries.filter(([name]) => name.startsWith('filter_tenant_id')).map(([, value]) => value);
      const tenants = lists.flatMap((list) => list.split(',').map((one) => one.trim()));
      return tenants.length > 0 && !tenants.includes(request.projectId);
    }
    case 'tainted':
      // Extra specs, which tolerate taints, are not verified.
      return metadata.some((one) => Object.keys(one).some((name) => name.startsWith('taint:')));
    case 'not_in_aggregate':
      return request.memberOf.some((any) => !root.aggregates.some((one) => any.includes(one)));
    case 'in_forbidden_aggregate':
      return root.aggregates.some((one) => request.forbiddenAggregates.includes(one));
    case 'not_forced':
      return request.forceHosts.length > 0 && !request.forceHosts.includes(String(row['name']));
    case 'ignored':
      return request.ignoreHosts.includes(String(row['name']));
    default:
      return undefined;
  }
}

/** No provider can give the amount, and the stated rule is the first that one of them breaks, or there is no provider. */
function capacityHolds(
  { rule, resourceClass }: { readonly rule: string; readonly resourceClass: string },
  { resources }: RequestSpec,
  providers: readonly ProviderRow[],
  used: Used,
): Holds {
  const [name, amount] = Object.entries(resources).find(([one]) => one.toLowerCase() === resourceClass) ?? [];
  if (name === undefined || amount === undefined) return false;
  const verdicts = providers.flatMap(({ uuid, inventories }) => {
    const inventory = inventories[name];
    if (inventory === undefined) return [];
    const { total = 0, reserved = 0, allocationRatio = 1, minUnit = 1, maxUnit = 0, stepSize = 1 } = inventory;
    const free = Math.floor((total - reserved) * allocationRatio) - (used.get(uuid)?.[name] ?? 0);
    const broken = [
      ...(amount > free ? ['capacity'] : []),
      ...(amount < minUnit ? ['min_unit'] : []),
      ...(amount > maxUnit ? ['max_unit'] : []),
      ...(amount % stepSize !== 0 ? ['step_size'] : []),
    ];
    // A reason names the first broken rule of one provider; of several providers, any.
    return [providers.length === 1 ? broken.slice(0, 1) : broken];
  });
  if (rule === 'no_inventory') return verdicts.length === 0;
  return verdicts.length > 0 && verdicts.every(({ length }) => length > 0) && verdicts.flat().includes(rule);
}

function rowsIn<T>({ tables }: StoreImage, table: string): ReadonlyMap<string, T> {
  return new Map((tables[table] ?? []).map(([key, , row]) => [key, row as T]));
}

/** Sums of the claims themselves: the store's own sums are not trusted. */
function usedBy(image: StoreImage): Used {
  const used = new Map<string, Record<string, number>>();
  const consumers = rowsIn<{ readonly allocations: Readonly<Record<string, Readonly<Record<string, number>>>> }>(
    image,
    'consumer',
  );
  for (const { allocations } of consumers.values()) {
    for (const [uuid, amounts] of Object.entries(allocations)) {
      const sum = used.get(uuid) ?? {};
      for (const [name, amount] of Object.entries(amounts)) sum[name] = (sum[name] ?? 0) + amount;
      used.set(uuid, sum);
    }
  }
  return used;
}

function hostsBehind(image: StoreImage): ReadonlyMap<string, Behind> {
  const providers = rowsIn<ProviderRow>(image, 'provider');
  const trees = rowsIn<{ readonly members: readonly string[] }>(image, 'tree');
  const aggregates = rowsIn<{ readonly metadata: Readonly<Record<string, string>> }>(image, 'aggregate');
  const sharing = [...providers.values()].filter(({ traits }) => traits.includes('MISC_SHARES_VIA_AGGREGATE'));
  const hosts = new Map<string, Behind>();
  for (const [name, row] of rowsIn<Readonly<Record<string, unknown>>>(image, 'host')) {
    const root = providers.get(String(row['providerUuid']));
    if (root === undefined) continue;
    const members = (trees.get(root.uuid)?.members ?? []).map((uuid) => providers.get(uuid));
    const tree = [root, ...members.filter((one) => one !== undefined && one.uuid !== root.uuid)] as ProviderRow[];
    const near = new Set(tree.flatMap((one) => one.aggregates));
    const shared = sharing.filter((one) => !tree.includes(one) && one.aggregates.some((uuid) => near.has(uuid)));
    const its = (row['aggregates'] as readonly string[] | undefined) ?? [];
    const metadata = its.map((uuid) => aggregates.get(uuid)?.metadata ?? {});
    hosts.set(name, { row, root, tree, shared, metadata });
  }
  return hosts;
}
