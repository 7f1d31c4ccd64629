import { InvalidArgumentError } from '@commander-js/extra-typings';
import { isQualifiedName } from '#libs/domain/devices/device';
import {
  type DeviceAlternative,
  type DeviceConstraint,
  type DeviceRequest,
  isDeviceRequestName,
} from '#libs/domain/devices/device-request';
import { parseQuantity } from '#libs/domain/devices/quantity';
import { amount } from '../number-flags';

/** One `--device`: an alternative of the request of its name. */
export interface DeviceFlag {
  readonly request: string;
  readonly alternative: Omit<DeviceAlternative, 'name'>;
}

/** The parser of `--device name=gpu,count=2,capacity=memory:10Gi,tolerate=worn:*,select=EXPRESSION`: what follows `select=` is the expression. */
export function parseDeviceFlag(text: string): DeviceFlag {
  const at = /(?:^|,)select=/.exec(text);
  const words = (at ? text.slice(0, at.index) : text).split(',').filter((word) => word !== '');
  const selectors = at ? [text.slice(at.index + at[0].length)] : [];
  if (selectors.some((one) => one.trim() === '')) throw new InvalidArgumentError('select= must be an expression.');
  let request = 'device';
  let count: DeviceAlternative['count'] = 1;
  const capacity: Record<string, number> = {};
  const tolerations: Record<string, string> = {};
  const tolerationSeconds: Record<string, number> = {};
  for (const word of words) {
    const [key, value] = splitAt(word, '=');
    if (key === 'name') request = requestName(value);
    else if (key === 'count') count = value === 'all' ? 'all' : amount(value);
    else if (key === 'capacity') Object.assign(capacity, capacityIn(value));
    else if (key === 'tolerate') {
      const toleration = tolerationIn(value);
      tolerations[toleration.key] = toleration.value;
      if (toleration.seconds > 0) tolerationSeconds[toleration.key] = toleration.seconds;
    } else
      throw new InvalidArgumentError(`'${word}' is none of name=, count=, capacity=, tolerate=, select= (the last).`);
  }
  const limited = Object.keys(tolerationSeconds).length > 0 && { tolerationSeconds };
  return { request, alternative: { count, selectors, capacity, tolerations, ...limited } };
}

/** The requests of all `--device`: those of one name are alternatives, in their order. */
export function deviceRequestsOf(flags: readonly DeviceFlag[]): DeviceRequest[] {
  const names = [...new Set(flags.map(({ request }) => request))];
  return names.map((name) => {
    const own = flags.filter(({ request }) => request === name).map(({ alternative }) => alternative);
    const firstAvailable = own.map((one, n) => ({ ...one, name: own.length > 1 ? String(n + 1) : '' }));
    return { name, firstAvailable };
  });
}

/** The parser of `--device-match ATTRIBUTE` or `ATTRIBUTE:NAME,NAME`. */
export function parseDeviceMatch(text: string): DeviceConstraint {
  const [matchAttribute, names] = splitAt(text, ':');
  if (!isQualifiedName(matchAttribute)) throw new InvalidArgumentError('It must be an attribute, such as numa.');
  return { matchAttribute, requests: names === '' ? [] : names.split(',').map(requestName) };
}

function requestName(text: string): string {
  if (isDeviceRequestName(text)) return text;
  throw new InvalidArgumentError(`'${text}' must be up to 32 letters a-z, digits and -.`);
}

function capacityIn(text: string): Record<string, number> {
  const [name, said] = splitAt(text, ':');
  const quantity = parseQuantity(said);
  if (!isQualifiedName(name) || !quantity)
    throw new InvalidArgumentError(`'${text}' must be NAME:AMOUNT, as memory:10Gi.`);
  return { [name]: quantity };
}

/** `worn:*`; with `worn:*:300s` it is moved away so long after a taint that does that. */
function tolerationIn(text: string): { readonly key: string; readonly value: string; readonly seconds: number } {
  const [key, said] = splitAt(text, ':');
  const [, value = '', seconds = '0'] = /^(.+?)(?::([1-9]\d{0,8})s)?$/.exec(said) ?? [];
  if (!isQualifiedName(key) || value === '') throw new InvalidArgumentError(`'${text}' must be KEY:VALUE, or KEY:*.`);
  return { key, value, seconds: Number(seconds) };
}

function splitAt(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
