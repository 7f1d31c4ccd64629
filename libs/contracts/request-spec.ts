import { berth } from '#generated/berth';
import { isDeviceSuffix } from '../domain/devices/device-request';
import { invalidArgument } from '../domain/errors';
import type { RequestGroup, RequestSpec } from '../domain/request-spec';
import {
  amounts,
  badName,
  chosenProjectId,
  hostNames,
  missing,
  name,
  operatorsName,
  requiredName,
  text,
  traits,
  uuid,
  uuids,
  whole,
} from './checks';
import type { Codec } from './codec';
import { checkDevices, deviceConstraints, deviceRequests } from './devices';
import type { Conversion } from './field';
import { NO_RULES, ruled, rulesOf } from './field-rules';
import { enumBy, list, listed, map, optional, orUndefined, renamed } from './fields';
import { MAX_NAMES, MAX_REQUEST_GROUPS } from './limits';
import { message } from './message';
import { KIB, MANY, ofTenants } from './message-rules';
import { namedGroup } from './placement';

const wire = berth.scheduler.v1;
type WireLists = readonly berth.scheduler.v1.IStringList[];

/** The outer list is all of, each inner list any of: none is empty. */
function lists(check: (values: readonly string[], path: string) => readonly string[]) {
  const nonEmpty = ruled({ required: true, ...rulesOf(check) }, (values: readonly string[], path: string) => {
    if (values.length === 0) throw missing(path);
    return check(values, path);
  });
  return list(listed(nonEmpty), MAX_NAMES) as Conversion<readonly (readonly string[])[], WireLists>;
}

const requestGroup = message(wire.RequestGroup, {
  suffix: name,
  resources: amounts,
  requiredTraits: lists(traits),
  forbiddenTraits: traits,
  memberOf: lists(uuids),
  forbiddenAggregates: uuids,
  inTree: orUndefined(uuid),
});

const groupPolicy: Conversion<RequestSpec['groupPolicy'], boolean> = ruled(NO_RULES, {
  fromWire: (isolates: boolean) => (isolates ? 'isolate' : 'none'),
  toWire: (policy: RequestSpec['groupPolicy']) => policy === 'isolate',
});

const flavorVersion = message(wire.FlavorVersion, { name: requiredName, version: whole });

/** The request of one instance: by itself in records and where a conductor fills a flavor in, else inside of requests. */
export const requestSpec = message(
  wire.RequestSpec,
  {
    projectId: chosenProjectId,
    userId: requiredName,
    flavor: orUndefined(flavorVersion),
    resources: amounts,
    requiredTraits: traits,
    forbiddenTraits: traits,
    preferredTraits: traits,
    preferredResources: amounts,
    availabilityZone: orUndefined(name),
    memberOf: lists(uuids),
    forbiddenAggregates: uuids,
    extraSpecs: map(text),
    imageProperties: map(text),
    sameHost: uuids,
    differentHost: uuids,
    group: orUndefined(namedGroup),
    forceHosts: hostNames,
    ignoreHosts: hostNames,
    requestGroups: list(requestGroup, MAX_REQUEST_GROUPS),
    isolateGroups: renamed('groupPolicy', groupPolicy),
    sameSubtrees: lists((values) => values),
    rootRequiredTraits: traits,
    rootForbiddenTraits: traits,
    rebuildPolicy: enumBy({
      never: wire.RebuildPolicy.REBUILD_POLICY_UNSPECIFIED,
      evacuate: wire.RebuildPolicy.REBUILD_POLICY_EVACUATE,
    }),
    deviceRequests,
    deviceConstraints,
    reservation: optional(operatorsName),
  },
  { rule: ofTenants(512 * KIB, MANY), path: 'request_spec', check: checkSpec },
);

/** A request spec by itself: how an instance keeps it. */
export const requestSpecCodec: Codec<RequestSpec> = requestSpec;

/**
 * A flavor or an extra spec may be all that says what is taken: whoever reads them (`resolveSpec`) sees whether it is.
 *
 * @throws BerthError `missing_field`; `flavor_and_resources` for a flavor to be filled in where there is something.
 */
function checkSpec(spec: RequestSpec, path: string): void {
  const { flavor, resources, extraSpecs, requestGroups, sameSubtrees } = spec;
  const isSaid = hasKeys(resources) || hasKeys(extraSpecs);
  if (flavor?.version === 0 && isSaid) {
    const problem = `${path} names a flavor, or has resources and extra specs of its own, not both`;
    throw invalidArgument('flavor_and_resources', problem, `${path}.flavor`);
  }
  if (!flavor && !isSaid) throw missing(`${path}.resources`);
  checkGroups(requestGroups, sameSubtrees, path);
  if (spec.deviceRequests.length + spec.deviceConstraints.length > 0) checkDevices(spec, path);
}

/** The search counts on it: suffixes are distinct, subtrees name groups, and a group without resources is in a subtree. */
function checkGroups(groups: readonly RequestGroup[], sameSubtrees: RequestSpec['sameSubtrees'], path: string): void {
  const suffixes = groups.map(({ suffix }) => suffix);
  const reserved = suffixes.find(isDeviceSuffix);
  if (reserved !== undefined)
    throw badName(`${path}.request_groups`, reserved, "another name: 'device:' is that of devices");
  const named = new Set(sameSubtrees.flat());
  const twice = suffixes.find((suffix, i) => suffixes.indexOf(suffix) !== i);
  if (twice !== undefined) {
    throw invalidArgument('duplicate_suffix', `two request groups are called '${twice}'`, `${path}.request_groups`);
  }
  const unknown = [...named].find((suffix) => !suffixes.includes(suffix));
  if (unknown !== undefined) {
    throw invalidArgument('unknown_value', `there is no request group '${unknown}'`, `${path}.same_subtrees`);
  }
  const bare = groups.findIndex(({ suffix, resources }) => !hasKeys(resources) && !named.has(suffix));
  if (bare >= 0) throw missing(`${path}.request_groups[${bare}].resources`);
}

function hasKeys(values: object): boolean {
  for (const _ in values) return true;
  return false;
}
