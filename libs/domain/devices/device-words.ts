import { isClassOrTraitName } from '../names';
import { isQualifiedName } from './device';
import { type DeviceAlternative, isDeviceRequestName } from './device-request';
import { MAX_ATTRIBUTE_BYTES, MAX_DEVICE_ATTRIBUTES, MAX_DEVICES_ASKED, MAX_SELECTOR_BYTES } from './limits';
import { parseQuantity } from './quantity';

/** A request for devices in words, or the problem with it in a sentence. */
export type DeviceWords =
  | { readonly kind: 'read'; readonly name: string | undefined; readonly alternative: Omit<DeviceAlternative, 'name'> }
  | { readonly kind: 'problem'; readonly problem: string };

/**
 * Reads `name=gpu,class=CUSTOM_GPU,count=2,capacity=memory:10Gi,tolerate=worn:*:300s,select=EXPRESSION`, each word where it is wanted: what
 * follows `select=` is the expression, which is not read here. The flag `--device` and the extra spec `device:NAME` are such words.
 */
export function parseDeviceWords(text: string): DeviceWords {
  const at = /(?:^|,)select=/.exec(text);
  const words = (at ? text.slice(0, at.index) : text).split(',').filter((word) => word !== '');
  const selectors = at ? [text.slice(at.index + at[0].length)] : [];
  if (selectors.some((one) => one.trim() === '')) return problem('select= must be an expression');
  if (selectors.some((one) => new TextEncoder().encode(one).length > MAX_SELECTOR_BYTES)) {
    return problem(`select= may have ${MAX_SELECTOR_BYTES} bytes`);
  }
  const read: Read = { name: undefined, count: 1, capacity: {}, tolerations: {}, tolerationSeconds: {} };
  for (const word of words) {
    const wrong = readWord(word, read);
    if (wrong !== undefined) return problem(wrong);
  }
  const { name, count, resourceClass, capacity, tolerations, tolerationSeconds } = read;
  const limited = Object.keys(tolerationSeconds).length > 0 && { tolerationSeconds };
  const ofClass = resourceClass !== undefined && { resourceClass };
  return { kind: 'read', name, alternative: { ...ofClass, count, selectors, capacity, tolerations, ...limited } };
}

interface Read {
  name: string | undefined;
  count: DeviceAlternative['count'];
  resourceClass?: string;
  readonly capacity: Record<string, number>;
  readonly tolerations: Record<string, string>;
  readonly tolerationSeconds: Record<string, number>;
}

/** The problem with a word; undefined when it is read. */
function readWord(word: string, read: Read): string | undefined {
  const [key, value] = splitAt(word, '=');
  switch (key) {
    case 'name':
      read.name = value;
      return isDeviceRequestName(value) ? undefined : `'${value}' must be up to 32 letters a-z, digits and -`;
    case 'class':
      read.resourceClass = value;
      return isClassOrTraitName(value) ? undefined : `'${value}' must be a resource class, as CUSTOM_GPU`;
    case 'count': {
      const count = Number(value);
      read.count = value === 'all' ? 'all' : count;
      const isCount = /^[1-9]\d{0,9}$/.test(value) && count <= MAX_DEVICES_ASKED;
      return isCount || value === 'all' ? undefined : `count= must be a number up to ${MAX_DEVICES_ASKED}, or all`;
    }
    case 'capacity': {
      const [name, said] = splitAt(value, ':');
      const quantity = parseQuantity(said);
      if (!isQualifiedName(name) || !quantity) return `'${value}' must be NAME:AMOUNT, as memory:10Gi`;
      read.capacity[name] = quantity;
      return tooManyIn(read.capacity, MAX_DEVICE_ATTRIBUTES / 2, key);
    }
    case 'tolerate':
      return readToleration(value, read) ?? tooManyIn(read.tolerations, MAX_DEVICE_ATTRIBUTES, key);
    default:
      return `'${word}' is none of name=, class=, count=, capacity=, tolerate=, select= (the last)`;
  }
}

/** `worn:*`; with `worn:*:300s` it is moved away so long after a taint that does that. */
function readToleration(text: string, { tolerations, tolerationSeconds }: Read): string | undefined {
  const [key, said] = splitAt(text, ':');
  const [, value = '', seconds = '0'] = /^(.+?)(?::([1-9]\d{0,8})s)?$/.exec(said) ?? [];
  const isValue = value !== '' && new TextEncoder().encode(value).length <= MAX_ATTRIBUTE_BYTES;
  if (!isQualifiedName(key) || !isValue) return `'${text}' must be KEY:VALUE, or KEY:*`;
  tolerations[key] = value;
  if (seconds !== '0') tolerationSeconds[key] = Number(seconds);
  return undefined;
}

function tooManyIn(entries: object, most: number, key: string): string | undefined {
  return Object.keys(entries).length > most ? `${key}= may stand ${most} times` : undefined;
}

/** A text before and after the first mark; the second part is empty without one. */
export function splitAt(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function problem(sentence: string): DeviceWords {
  return { kind: 'problem', problem: sentence };
}
