import { InvalidArgumentError } from '@commander-js/extra-typings';
import { isQualifiedName } from '#libs/domain/devices/device';
import {
  type DeviceAlternative,
  type DeviceConstraint,
  type DeviceRequest,
  isDeviceRequestName,
} from '#libs/domain/devices/device-request';
import { parseDeviceWords, splitAt } from '#libs/domain/devices/device-words';
import { hintFor, isResourceClass } from '#libs/domain/naming/known-names';

/** One `--device`: an alternative of the request of its name. */
export interface DeviceFlag {
  readonly request: string;
  readonly alternative: Omit<DeviceAlternative, 'name'>;
}

/** The parser of `--device`, in the words of `parseDeviceWords`. */
export function parseDeviceFlag(text: string): DeviceFlag {
  const words = parseDeviceWords(text);
  if (words.kind === 'problem') throw new InvalidArgumentError(`${words.problem}.`);
  const { name = 'device', alternative } = words;
  const { resourceClass } = alternative;
  if (resourceClass !== undefined && !isResourceClass(resourceClass)) {
    throw new InvalidArgumentError(
      `There is no resource class '${resourceClass}'; ${hintFor(resourceClass, 'resource class')}.`,
    );
  }
  return { request: name, alternative };
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
