import { type Command, InvalidArgumentError, Option, type OptionValues } from '@commander-js/extra-typings';
import type { Client } from '#libs/client/client';
import { IMAGE_WISHES } from '#libs/domain/extra-specs/image-properties';
import type { Resources } from '#libs/domain/inventory';
import { isFlavorName, isHostName } from '#libs/domain/names';
import { hintFor, isResourceClass, isTrait } from '#libs/domain/naming/known-names';
import { REBUILD_POLICIES, type RequestSpec, requestSpec } from '#libs/domain/request-spec';
import { GROUP_POLICIES, type NamedGroup } from '#libs/domain/server-group';
import { meantInstances } from '../../client/meant';
import { usageError } from '../../failure';
import { amount } from '../number-flags';
import { repeatable } from '../repeatable-flag';
import { deviceRequestsOf, parseDeviceFlag, parseDeviceMatch } from './device-flag';
import { parseRequestGroup } from './request-group-flag';

/** The image properties that the filter image_properties checks, and those that ask as extra specs do. */
const IMAGE_PROPERTIES: readonly string[] = ['hw_architecture', 'img_hv_type', 'hw_vm_mode', ...IMAGE_WISHES];

/** Adds the flags of a request spec, for `build` and `explain`. */
export function addRequestFlags(command: Command) {
  const sized = command
    .optionsGroup('Requirements of each instance:')
    .option('--flavor <name>', 'a flavor, instead of resources and extra specs', flavorName);
  return addAmountFlags(sized)
    .addOption(repeatable('--trait <NAME>', 'a trait the host must have', traitName))
    .addOption(repeatable('--forbid-trait <NAME>', 'a trait the host must not have', traitName))
    .option('--zone <name>', 'the availability zone; any when not given')
    .addOption(repeatable('--image-property <key=value>', `one of ${IMAGE_PROPERTIES.join(', ')}`, imageProperty))
    .addOption(
      repeatable(
        '--extra-spec <key=value>',
        'an extra spec, as in a flavor: trait:NAME=required, hw:cpu_policy=dedicated',
        keyAndValue,
      ),
    )
    .optionsGroup('Requirements of single providers (NUMA nodes, devices, bandwidth):')
    .addOption(
      repeatable(
        '--request-group <NAME:KEY=VALUE,...>',
        'requirements of a single provider; keys: resources, required, forbidden, member_of, in_tree',
        parseRequestGroup,
      ),
    )
    .option('--isolate-groups', 'no two request groups from the same provider', false)
    .addOption(repeatable('--same-subtree <NAME,...>', 'request groups below one ancestor', (text) => text.split(',')))
    .addOption(repeatable('--root-trait <NAME>', "a trait of the host's root provider", traitName))
    .addOption(
      repeatable('--forbid-root-trait <NAME>', "a trait that the host's root provider must not have", traitName),
    )
    .optionsGroup('Devices, by their attributes:')
    .addOption(
      repeatable(
        '--device <KEY=VALUE,...>',
        'keys: name, class, count (or all), capacity, tolerate (worn:*, or worn:*:300s), and last select, an expression; of one name, the next choice',
        parseDeviceFlag,
      ),
    )
    .addOption(
      repeatable('--device-match <ATTRIBUTE[:NAME,...]>', 'all devices have one value of it', parseDeviceMatch),
    )
    .optionsGroup('Placement relative to others:')
    .option(
      '--group <NAME:POLICY>',
      `server group: the NAME of a stored one, or with a policy: ${GROUP_POLICIES.join(', ')}`,
      serverGroup,
    )
    .addOption(repeatable('--same-host <instance>', 'on a host of one of these instances', String))
    .addOption(repeatable('--different-host <instance>', 'on a host of none of these instances', String))
    .optionsGroup('Preferences (weighed, never a refusal):')
    .addOption(repeatable('--prefer-trait <NAME>', 'a trait the host should have', traitName))
    .addOption(
      repeatable('--prefer-resource <CLASS=N>', 'an amount that is claimed where the host has it', amountOfClass),
    )
    .optionsGroup('After the death of its host:')
    .addOption(
      new Option('--rebuild <policy>', 'never rebuild it, or evacuate it automatically')
        .choices(REBUILD_POLICIES)
        .default('never' as const),
    )
    .optionsGroup('Owner:')
    .option('--project <id>', 'project; for a tenant its own, else default')
    .option('--user <id>', 'user', 'default');
}

/** Adds the flags of `resourcesOf`. */
export function addAmountFlags<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .option('--vcpu <n>', 'virtual CPUs', amount)
    .option('--memory-mb <n>', 'memory, MiB', amount)
    .option('--disk-gb <n>', 'disk, GiB', amount)
    .addOption(repeatable('--resource <CLASS=N>', 'an amount of any resource class', amountOfClass));
}

/** The flag of a request that is in a reservation. */
export function reservationOption() {
  return new Option('--reservation <name>', 'in the capacity that this reservation holds for the project').argParser(
    reservationName,
  );
}

function reservationName(text: string): string {
  if (isFlavorName(text)) return text;
  throw new InvalidArgumentError('It must be the name of a reservation.');
}

/**
 * The request spec of parsed flags; for `ownProject` unless they name a project.
 *
 * @throws BerthError `invalid_argument / usage` when it requests no resource.
 */
export function requestSpecOf(
  flags: ReturnType<ReturnType<typeof addRequestFlags>['opts']>,
  forceHosts: readonly string[],
  ownProject = 'default',
): RequestSpec {
  const resources = resourcesOf(flags);
  const hasOwn = Object.keys(resources).length + flags.extraSpec.length > 0;
  if (flags.flavor !== undefined && hasOwn) {
    throw usageError('use --flavor or --vcpu/--memory-mb, not both', 'a flavor has its own resources and extra specs');
  }
  if (flags.flavor === undefined && !hasOwn) {
    throw usageError('the request asks for no resources', 'add --flavor NAME, or --vcpu 1 --memory-mb 512');
  }
  return requestSpec(resources, {
    projectId: flags.project ?? ownProject,
    userId: flags.user,
    flavor: flags.flavor === undefined ? undefined : { name: flags.flavor, version: 0 },
    requiredTraits: flags.trait,
    forbiddenTraits: flags.forbidTrait,
    preferredTraits: flags.preferTrait,
    preferredResources: Object.fromEntries(flags.preferResource),
    availabilityZone: flags.zone,
    extraSpecs: Object.fromEntries(flags.extraSpec),
    imageProperties: Object.fromEntries(flags.imageProperty),
    sameHost: flags.sameHost,
    differentHost: flags.differentHost,
    group: flags.group,
    forceHosts,
    requestGroups: flags.requestGroup,
    groupPolicy: flags.isolateGroups ? 'isolate' : 'none',
    sameSubtrees: flags.sameSubtree,
    rootRequiredTraits: flags.rootTrait,
    rootForbiddenTraits: flags.forbidRootTrait,
    rebuildPolicy: flags.rebuild,
    deviceRequests: deviceRequestsOf(flags.device),
    deviceConstraints: flags.deviceMatch,
  });
}

/** The request with the UUIDs of the instances that it names. Errors as in `meantInstance`. */
export async function withMeantInstances(client: Client, spec: RequestSpec): Promise<RequestSpec> {
  const [sameHost, differentHost] = [
    await meantInstances(client, spec.sameHost),
    await meantInstances(client, spec.differentHost),
  ];
  return { ...spec, sameHost, differentHost };
}

/** The amounts in the flags. */
export function resourcesOf(flags: {
  readonly vcpu?: number | undefined;
  readonly memoryMb?: number | undefined;
  readonly diskGb?: number | undefined;
  readonly resource: readonly (readonly [string, number])[];
}): Resources {
  const { vcpu, memoryMb, diskGb, resource } = flags;
  return {
    ...Object.fromEntries(resource),
    ...(vcpu === undefined ? {} : { VCPU: vcpu }),
    ...(memoryMb === undefined ? {} : { MEMORY_MB: memoryMb }),
    ...(diskGb === undefined ? {} : { DISK_GB: diskGb }),
  };
}

/** The parser of flavors' names. */
export function flavorName(text: string): string {
  if (isFlavorName(text)) return text;
  throw new InvalidArgumentError('It must be the name of a flavor: letters, digits, dots, dashes, underscores.');
}

/** The parser of stored groups' names. */
export function groupName(text: string): string {
  if (isFlavorName(text)) return text;
  throw new InvalidArgumentError('It must be the name of a group: letters, digits, dots, dashes, underscores.');
}

/** The parser of the names of plans to move instances. */
export function planName(text: string): string {
  if (isFlavorName(text)) return text;
  throw new InvalidArgumentError('It must be the name of a plan: letters, digits, dots, dashes, underscores.');
}

/** The parser of host names. */
export function hostName(text: string): string {
  if (isHostName(text)) return text;
  throw new InvalidArgumentError('It must be a host name: letters, digits, dots, dashes.');
}

/** The parser of traits' names. */
export function traitName(text: string): string {
  if (isTrait(text)) return text;
  throw new InvalidArgumentError(`There is no trait '${text}'; ${hintFor(text, 'trait')}.`);
}

/** The parser of amounts of any class. */
export function amountOfClass(text: string): [resourceClass: string, amount: number] {
  const [resourceClass, value] = splitPair(text, 'CLASS=N, such as VGPU=1');
  if (isResourceClass(resourceClass)) return [resourceClass, amount(value)];
  const hint = hintFor(resourceClass, 'resource class');
  throw new InvalidArgumentError(`There is no resource class '${resourceClass}'; ${hint}.`);
}

/** The filter ignores any other property silently. */
function imageProperty(text: string): [key: string, value: string] {
  const [key, value] = keyAndValue(text);
  if (IMAGE_PROPERTIES.includes(key)) return [key, value];
  throw new InvalidArgumentError(`No host is asked for '${key}'; it must be one of ${IMAGE_PROPERTIES.join(', ')}.`);
}

/** The parser of pairs. */
export function keyAndValue(text: string): [key: string, value: string] {
  return splitPair(text, 'key=value');
}

function splitPair(text: string, form: string): [key: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError(`It must look like ${form}.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function serverGroup(text: string): NamedGroup {
  const [id = '', name, maxPerHost, ...rest] = text.split(':');
  const policy = GROUP_POLICIES.find((known) => known === name);
  if (id !== '' && name === undefined) return { id, policy: undefined, maxPerHost: 0 };
  if (id === '' || policy === undefined || rest.length > 0) {
    throw new InvalidArgumentError(
      `It must look like NAME or NAME:POLICY, the policy one of ${GROUP_POLICIES.join(', ')}.`,
    );
  }
  return { id, policy, maxPerHost: maxPerHost === undefined ? 1 : amount(maxPerHost) };
}
