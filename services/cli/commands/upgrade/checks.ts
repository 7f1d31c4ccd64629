import { BerthError } from '#libs/domain/errors';
import { type ResolvedSpec, resolveSpec } from '#libs/domain/extra-specs/resolve';
import type { Flavor } from '#libs/domain/flavor';
import type { Host } from '#libs/domain/host';
import type { Resources } from '#libs/domain/inventory';
import type { NodeRecord } from '#libs/domain/nodes/node';
import { requestSpec } from '#libs/domain/request-spec';
import type { ProjectUsage } from '#libs/placement/port/placement-store';
import type { PlacementView, ProviderForest } from '#libs/placement/port/placement-view';
import { candidatesInTree } from '#libs/placement/search/find-candidates';
import { planOf } from '#libs/placement/search/plan';
import { queryFromRequestSpec } from '#libs/placement/search/query';
import { formProblem, type StoredForm } from '#libs/redis/schema';

/** Results of `nova-status upgrade check`: a `failure` must be fixed before the upgrade, a `warning` needs a look. */
export type CheckResult = 'success' | 'warning' | 'failure';

/** A check and its findings, in sentences. */
export interface Check {
  readonly check: string;
  readonly result: CheckResult;
  readonly details: readonly string[];
}

/** The store's content that checks read. */
export interface CellContents {
  readonly view: PlacementView;
  readonly flavors: readonly Flavor[];
  readonly usages: readonly ProjectUsage[];
  /** Nodes of bare metal. */
  readonly nodes: readonly Pick<NodeRecord, 'host' | 'resourceClass'>[];
}

const MOST_DETAILS = 20;

/** Checks that this release reads the store's row format. */
export function checkForm(form: StoredForm): Check {
  const check = 'Form of the store';
  const problem = formProblem(form);
  if (problem) return failure(check, [problem.message]);
  const { present, writes } = form;
  return present === writes || present === 0
    ? success(check)
    : warning(check, [`its rows have form ${present}, this release writes ${writes}`]);
}

/** All checks of a readable store's content. */
export function checkContents(contents: CellContents): readonly Check[] {
  const { view, flavors, usages, nodes } = contents;
  const resolved = flavors.map(resolve);
  const specs = resolved.flatMap(({ flavor, spec }) => (spec ? [{ flavor, spec }] : []));
  return [
    checkUnderstood(resolved),
    checkClasses(specs, view),
    checkTraits(specs, view),
    checkHeld(specs, view),
    checkHosts([...view.hosts()]),
    checkNodes(nodes),
    checkCounts(usages, view),
  ];
}

interface Understood {
  readonly flavor: string;
  readonly spec: ResolvedSpec;
}

type Resolved = { readonly flavor: string; readonly spec: ResolvedSpec | undefined; readonly why: string };

function resolve({ name, resources, extraSpecs }: Flavor): Resolved {
  try {
    const spec = requestSpec(resources, { extraSpecs, projectId: '-', userId: '-' });
    return { flavor: name, spec: resolveSpec(spec, name), why: '' };
  } catch (thrown) {
    return { flavor: name, spec: undefined, why: BerthError.from(thrown).message };
  }
}

/** This release refuses builds from flavors that it does not understand. */
function checkUnderstood(resolved: readonly Resolved[]): Check {
  const wrong = resolved.filter(({ spec }) => spec === undefined);
  return found(
    'Extra specs of flavors',
    'failure',
    wrong.map(({ flavor, why }) => `flavor ${flavor}: ${why}`),
  );
}

function checkClasses(specs: readonly Understood[], view: PlacementView): Check {
  const missing = specs.flatMap(({ flavor, spec }) =>
    Object.keys(amountsOf(spec))
      .filter((name) => !view.hasResourceClass(name))
      .map((name) => `flavor ${flavor} asks for ${name}, which is no resource class`),
  );
  return found('Resource classes', 'warning', missing);
}

function checkTraits(specs: readonly Understood[], view: PlacementView): Check {
  const missing = specs.flatMap(({ flavor, spec }) =>
    traitsOf(spec)
      .filter((name) => !view.hasTrait(name))
      .map((name) => `flavor ${flavor} requires ${name}, which is no trait`),
  );
  return found('Traits', 'warning', missing);
}

function amountsOf({ resources, requestGroups }: ResolvedSpec): Resources {
  return Object.assign({}, resources, ...requestGroups.map((group) => group.resources)) as Resources;
}

function traitsOf({ requiredTraits, rootRequiredTraits, requestGroups }: ResolvedSpec): readonly string[] {
  const own = [...requiredTraits, ...rootRequiredTraits];
  return [...new Set([...own, ...requestGroups.flatMap((group) => group.requiredTraits.flat())])];
}

/** Flavors that no host could hold even when empty. */
function checkHeld(specs: readonly Understood[], view: PlacementView): Check {
  const empty: ProviderForest = {
    provider: (uuid) => view.provider(uuid),
    tree: (uuid) => view.tree(uuid),
    children: (uuid) => view.children(uuid),
    sharingProviders: () => view.sharingProviders(),
    usage: () => NOTHING,
  };
  const hosts = [...view.hosts()];
  const held = ({ spec }: Understood) => {
    const plan = planOf(empty, queryFromRequestSpec(spec));
    if (!plan) return false;
    return hosts.some(({ providerUuid }) => !candidatesInTree(plan, providerUuid, { limit: 1 }).next().done);
  };
  const unheld = specs.filter((one) => !held(one));
  return found(
    'Flavors',
    'warning',
    unheld.map(({ flavor }) => `no host can hold flavor ${flavor}, even when empty`),
  );
}

const NOTHING: Resources = {};

function checkHosts(hosts: readonly Host[]): Check {
  if (hosts.length === 0) return warning('Hosts', ['there are no hosts: no agent has reported']);
  const silent = hosts.filter(({ up }) => !up);
  return found(
    'Hosts',
    'warning',
    silent.map(({ name, updatedAtMs }) => {
      return `host ${name} does not report; its row is of ${new Date(updatedAtMs).toISOString()}`;
    }),
  );
}

/** Nodes without a class are never offered. */
function checkNodes(nodes: CellContents['nodes']): Check {
  const classless = nodes.filter(({ resourceClass }) => resourceClass === '');
  return found(
    'Nodes of bare metal',
    'warning',
    classless.map(({ host }) => `node ${host} has no class: say one in its inventory, or by BERTH_AGENT_NODE_CLASS`),
  );
}

/** Releases before quotas did not count projects' usage. */
function checkCounts(usages: readonly ProjectUsage[], { quotas }: PlacementView): Check {
  const counted = new Map(usages.map(({ projectId, used }) => [projectId, used]));
  const wrong = [...new Set([...counted.keys(), ...quotas.projects()])].filter((projectId) => {
    const [a, b] = [counted.get(projectId) ?? NOTHING, quotas.usage(projectId)];
    return [...Object.keys(a), ...Object.keys(b)].some((name) => (a[name] ?? 0) !== (b[name] ?? 0));
  });
  const details = wrong.map((projectId) => {
    return `what is counted of project ${projectId} is not what it holds; schedulers correct it within a minute or so`;
  });
  return found('Use of projects', 'warning', details);
}

/** A check with a list of findings. */
export function found(check: string, result: CheckResult, all: readonly string[]): Check {
  if (all.length === 0) return success(check);
  const shown = all.slice(0, MOST_DETAILS);
  const rest = all.length - shown.length;
  return { check, result, details: rest > 0 ? [...shown, `and ${rest} more`] : shown };
}

function success(check: string): Check {
  return { check, result: 'success', details: [] };
}

function warning(check: string, details: readonly string[]): Check {
  return { check, result: 'warning', details };
}

function failure(check: string, details: readonly string[]): Check {
  return { check, result: 'failure', details };
}
