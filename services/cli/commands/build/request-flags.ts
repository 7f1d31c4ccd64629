import { type Command, InvalidArgumentError } from 'commander';
import type { Resources } from '#libs/domain/inventory';
import { isClassOrTraitName, isHostName, isUuid } from '#libs/domain/names';
import { type RequestGroup, type RequestSpec, requestSpec } from '#libs/domain/request-spec';
import { GROUP_POLICIES, type GroupPolicy, type ServerGroup } from '#libs/domain/server-group';
import { usageError } from '../../failure';
import { amount } from '../number-flags';
import { addRequestGroup } from './request-group-flag';

/** The parsed flags that describe one instance. */
interface RequestFlags {
  readonly vcpu?: number;
  readonly memoryMb?: number;
  readonly diskGb?: number;
  readonly resource: Resources;
  readonly trait: readonly string[];
  readonly forbidTrait: readonly string[];
  readonly preferTrait: readonly string[];
  readonly preferResource: Resources;
  readonly zone?: string;
  readonly group?: ServerGroup;
  readonly sameHost: readonly string[];
  readonly differentHost: readonly string[];
  readonly imageProperty: Readonly<Record<string, string>>;
  readonly extraSpec: Readonly<Record<string, string>>;
  readonly project?: string;
  readonly user: string;
  readonly requestGroup: readonly RequestGroup[];
  readonly isolateGroups: boolean;
  readonly sameSubtree: readonly (readonly string[])[];
  readonly rootTrait: readonly string[];
  readonly forbidRootTrait: readonly string[];
}

/** Adds the flags of a request spec, for `build` and `explain`. */
export function addRequestFlags(command: Command): Command {
  return command
    .optionsGroup('What each instance needs:')
    .option('--vcpu <n>', 'virtual CPUs', amount)
    .option('--memory-mb <n>', 'memory, MiB', amount)
    .option('--disk-gb <n>', 'disk, GiB', amount)
    .option('--resource <CLASS=N>', 'an amount of any resource class; may be given again', addAmount, {})
    .option('--trait <NAME>', 'a trait the host must have; may be given again', addName, [])
    .option('--forbid-trait <NAME>', 'a trait the host must not have; may be given again', addName, [])
    .option('--zone <name>', 'the availability zone; any when not given')
    .option(
      '--image-property <key=value>',
      'hw_architecture, img_hv_type or hw_vm_mode; may be given again',
      addPair,
      {},
    )
    .option('--extra-spec <key=value>', "a fact the host's aggregates must match; may be given again", addPair, {})
    .optionsGroup('What it needs of single providers (NUMA nodes, devices, bandwidth):')
    .option(
      '--request-group <NAME:KEY=VALUE,...>',
      'met by one provider alone; keys: resources, required, forbidden, member_of, in_tree; may be given again',
      addRequestGroup,
      [],
    )
    .option('--isolate-groups', 'no two request groups from the same provider', false)
    .option('--same-subtree <NAME,...>', 'request groups below one ancestor; may be given again', addNames, [])
    .option('--root-trait <NAME>', "a trait of the host's root provider; may be given again", addName, [])
    .option('--forbid-root-trait <NAME>', 'one that the root must not have; may be given again', addName, [])
    .optionsGroup('Where it goes, relative to others:')
    .option('--group <NAME:POLICY>', `server group; policies: ${GROUP_POLICIES.join(', ')}`, serverGroup)
    .option('--same-host <uuid>', 'on a host of one of these instances; may be given again', addUuid, [])
    .option('--different-host <uuid>', 'on a host of none of these instances; may be given again', addUuid, [])
    .optionsGroup('What it would like (weighs, never refuses):')
    .option('--prefer-trait <NAME>', 'may be given again', addName, [])
    .option('--prefer-resource <CLASS=N>', 'free on the host beside what it takes; may be given again', addAmount, {})
    .optionsGroup('Whose it is:')
    .option('--project <id>', 'project; for a tenant its own, else default')
    .option('--user <id>', 'user', 'default');
}

/**
 * The request spec that parsed flags describe; for `ownProject` where they name none.
 *
 * @throws BerthError `invalid_argument / usage` when no resource is asked for.
 */
export function requestSpecOf(command: Command, forceHosts: readonly string[], ownProject = 'default'): RequestSpec {
  const flags = command.opts<RequestFlags>();
  const resources: Record<string, number> = { ...flags.resource };
  if (flags.vcpu !== undefined) resources['VCPU'] = flags.vcpu;
  if (flags.memoryMb !== undefined) resources['MEMORY_MB'] = flags.memoryMb;
  if (flags.diskGb !== undefined) resources['DISK_GB'] = flags.diskGb;
  if (Object.keys(resources).length === 0) {
    throw usageError('the request asks for no resources', 'say what it needs, such as --vcpu 1 --memory-mb 512');
  }
  return requestSpec(resources, {
    projectId: flags.project ?? ownProject,
    userId: flags.user,
    requiredTraits: flags.trait,
    forbiddenTraits: flags.forbidTrait,
    preferredTraits: flags.preferTrait,
    preferredResources: flags.preferResource,
    availabilityZone: flags.zone,
    extraSpecs: flags.extraSpec,
    imageProperties: flags.imageProperty,
    sameHost: flags.sameHost,
    differentHost: flags.differentHost,
    group: flags.group,
    forceHosts,
    requestGroups: flags.requestGroup,
    groupPolicy: flags.isolateGroups ? 'isolate' : 'none',
    sameSubtrees: flags.sameSubtree,
    rootRequiredTraits: flags.rootTrait,
    rootForbiddenTraits: flags.forbidRootTrait,
  });
}

/** The parser of host names; the flag may be repeated. */
export function addHost(text: string, before: readonly string[]): string[] {
  if (!isHostName(text)) throw new InvalidArgumentError('It must be a host name: letters, digits, dots, dashes.');
  return [...before, text];
}

function addUuid(text: string, before: readonly string[]): string[] {
  const uuid = text.toLowerCase();
  if (!isUuid(uuid)) throw new InvalidArgumentError('It must be the UUID of an instance.');
  return [...before, uuid];
}

function addName(text: string, before: readonly string[]): string[] {
  if (!isClassOrTraitName(text)) {
    throw new InvalidArgumentError('Traits are upper case letters, digits and underscores, such as HW_CPU_X86_AVX2.');
  }
  return [...before, text];
}

function addNames(text: string, before: readonly (readonly string[])[]): string[][] {
  return [...before.map((names) => [...names]), text.split(',')];
}

function addPair(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const { key, value } = splitPair(text, 'key=value');
  return { ...before, [key]: value };
}

function addAmount(text: string, before: Resources): Record<string, number> {
  const { key, value } = splitPair(text, 'CLASS=N, such as VGPU=1');
  if (!isClassOrTraitName(key)) {
    throw new InvalidArgumentError('Resource classes are upper case letters, digits and underscores, such as VGPU.');
  }
  return { ...before, [key]: amount(value) };
}

function splitPair(text: string, form: string): { key: string; value: string } {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError(`It must look like ${form}.`);
  return { key: text.slice(0, at), value: text.slice(at + 1) };
}

function serverGroup(text: string): ServerGroup {
  const [id = '', policy = '', maxPerHost, ...rest] = text.split(':');
  if (id === '' || !isPolicy(policy) || rest.length > 0) {
    throw new InvalidArgumentError(`It must look like NAME:POLICY, the policy one of ${GROUP_POLICIES.join(', ')}.`);
  }
  return { id, policy, maxPerHost: maxPerHost === undefined ? 1 : amount(maxPerHost) };
}

function isPolicy(text: string): text is GroupPolicy {
  return GROUP_POLICIES.some((policy) => policy === text);
}
