import { type DeviceRequest, isDeviceRequestName } from '../devices/device-request';
import { parseDeviceWords } from '../devices/device-words';
import { type BerthError, invalidArgument } from '../errors';
import { MAX_AMOUNT } from '../inventory';
import { hintFor, isResourceClass, isTrait } from '../naming/known-names';
import { isImageWish } from './image-properties';

/** An amount of a class for the unnumbered group (suffix '') or a granular one. */
export interface AmountSpec {
  readonly key: string;
  readonly suffix: string;
  readonly resourceClass: string;
  readonly amount: number;
}

export interface TraitSpec {
  readonly key: string;
  readonly suffix: string;
  readonly trait: string;
  readonly wish: 'required' | 'forbidden' | 'preferred';
}

/** Extra specs sorted by meaning. */
export interface ParsedExtraSpecs {
  readonly amounts: readonly AmountSpec[];
  readonly preferredAmounts: readonly Omit<AmountSpec, 'suffix'>[];
  readonly traits: readonly TraitSpec[];
  /** By `device:NAME`. */
  readonly deviceRequests: readonly DeviceRequest[];
  readonly groupPolicy: 'none' | 'isolate' | undefined;
  /** `hw:` extra specs, by the name after the scope. */
  readonly hardware: ReadonlyMap<string, string>;
  /** Extra specs that filters read as they are, by the whole key. */
  readonly filterSpecs: Readonly<Record<string, string>>;
}

/** Makes the error about one extra spec. */
export type ExtraSpecError = (
  reason: 'unknown_extra_spec' | 'bad_extra_spec' | 'conflicting_extra_specs',
  key: string,
  message: string,
) => BerthError;

/** Makes errors whose field is the extra spec, or the image property that asks the same, of the spec at the path `field`. */
export function extraSpecError(field: string): ExtraSpecError {
  return (reason, key, message) => {
    const [what, map] = isImageWish(key) ? ['image property', 'image_properties'] : ['extra spec', 'extra_specs'];
    return invalidArgument(reason, `${what} '${key}' ${message}`, `${field}.${map}.${key}`);
  };
}

const KEY = /^(resources|preferred_resources|trait)(\d{1,9}|_[A-Za-z0-9_-]{1,63})?:(.+)$/;
const HARDWARE =
  /^hw:(cpu_(?:policy|dedicated_mask|thread_policy|realtime|realtime_mask)|emulator_threads_policy|pci_numa_affinity_policy|mem_page_size|numa_nodes|numa_(?:cpus|mem)\.\d{1,2})$/;
const WISHES = ['required', 'forbidden', 'preferred'] as const;

/** The scope of extra specs that a host's aggregates must match; a key without any scope means the same, as in Nova. */
export const AGGREGATE_SCOPE = 'aggregate_instance_extra_specs:';
/** The scope of extra specs that an operator's declared filters and weighers read. A scheduler refuses those it has no rule for. */
export const RULE_SCOPE = 'rule:';
const RULE_KEY = new RegExp(`^${RULE_SCOPE}[a-z0-9_.-]{1,63}$`);
/** The scope of extra specs that tolerate taints of hosts. */
export const TOLERATION_SCOPE = 'toleration:';
const TOLERATION_KEY = new RegExp(`^${TOLERATION_SCOPE}[a-z0-9_.-]{1,63}$`);
/** The scope of extra specs that ask for devices by their attributes, under a name. */
export const DEVICE_SCOPE = 'device:';
/** Keys that the agents' drivers read; they put no requirement on a host. */
const DRIVER_KEYS: readonly string[] = ['berth:command', 'berth:image'];

function isForFilters(key: string): boolean {
  return key.startsWith(AGGREGATE_SCOPE) || !key.includes(':') || RULE_KEY.test(key) || TOLERATION_KEY.test(key);
}

/**
 * Sorts extra specs by meaning. Unknown ones are refused: an ignored extra spec would build an instance without
 * something that its user relies on.
 *
 * @throws BerthError `invalid_argument / unknown_extra_spec` or `bad_extra_spec`.
 */
export function parseExtraSpecs(extraSpecs: Readonly<Record<string, string>>, error: ExtraSpecError): ParsedExtraSpecs {
  const amounts: AmountSpec[] = [];
  const preferredAmounts: Omit<AmountSpec, 'suffix'>[] = [];
  const traits: TraitSpec[] = [];
  const deviceRequests: DeviceRequest[] = [];
  const hardware = new Map<string, string>();
  const filterSpecs: Record<string, string> = {};
  let groupPolicy: ParsedExtraSpecs['groupPolicy'];
  for (const [key, value] of Object.entries(extraSpecs)) {
    const [, kind, suffix = '', name = ''] = KEY.exec(key) ?? [];
    const [, hardwareName] = HARDWARE.exec(key) ?? [];
    if (kind === 'trait') traits.push({ key, suffix, trait: knownTrait(key, name), wish: wishOf(key, suffix, value) });
    else if (kind === 'resources') amounts.push({ key, suffix, ...amountOf(key, name, value, suffix === '' ? 0 : 1) });
    else if (kind === 'preferred_resources' && suffix === '')
      preferredAmounts.push({ key, ...amountOf(key, name, value, 1) });
    else if (key.startsWith(DEVICE_SCOPE)) deviceRequests.push(deviceOf(key, value));
    else if (key === 'group_policy') groupPolicy = oneOf(key, value, ['none', 'isolate']);
    else if (hardwareName !== undefined) hardware.set(hardwareName, value);
    else if (isForFilters(key)) filterSpecs[key] = value;
    else if (!DRIVER_KEYS.includes(key)) throw error('unknown_extra_spec', key, 'is not understood; take it out');
  }
  return { amounts, preferredAmounts, traits, deviceRequests, groupPolicy, hardware, filterSpecs };

  function deviceOf(key: string, value: string): DeviceRequest {
    const name = key.slice(DEVICE_SCOPE.length);
    if (!isDeviceRequestName(name)) {
      throw error('bad_extra_spec', key, 'must name a request by up to 32 letters a-z, digits and -');
    }
    const words = parseDeviceWords(value);
    if (words.kind === 'problem') throw error('bad_extra_spec', key, `can't be read: ${words.problem}`);
    if (words.name !== undefined) throw error('bad_extra_spec', key, `has its name in its key: take name= out`);
    const { resourceClass } = words.alternative;
    if (resourceClass !== undefined && !isResourceClass(resourceClass)) {
      const hint = hintFor(resourceClass, 'resource class');
      throw error('bad_extra_spec', key, `names no resource class: '${resourceClass}'; ${hint}`);
    }
    return { name, firstAvailable: [{ ...words.alternative, name: '' }] };
  }

  function knownTrait(key: string, name: string): string {
    if (isTrait(name)) return name;
    throw error('unknown_extra_spec', key, `names no trait: '${name}'; ${hintFor(name, 'trait')}`);
  }

  function wishOf(key: string, suffix: string, value: string): TraitSpec['wish'] {
    const wish = oneOf(key, value, WISHES);
    if (suffix === '' || wish !== 'preferred') return wish;
    throw error('bad_extra_spec', key, 'can be required or forbidden: the trait of a group is not preferred');
  }

  function amountOf(key: string, name: string, value: string, least: 0 | 1) {
    if (!isResourceClass(name)) {
      throw error('unknown_extra_spec', key, `names no resource class: '${name}'; ${hintFor(name, 'resource class')}`);
    }
    const amount = Number(value);
    if (!/^\d{1,10}$/.test(value) || amount < least || amount > MAX_AMOUNT) {
      throw error('bad_extra_spec', key, `must be a whole amount from ${least} to ${MAX_AMOUNT}, not '${value}'`);
    }
    return { resourceClass: name, amount };
  }

  function oneOf<const T extends string>(key: string, value: string, words: readonly T[]): T {
    const known = words.find((word) => word === value);
    if (known !== undefined) return known;
    throw error('bad_extra_spec', key, `must be ${words.join(' or ')}, not '${value}'`);
  }
}
