import type { DevicesAsked } from '../domain/devices/device-request';
import { invalidArgument } from '../domain/errors';
import { DEVICE_SCOPE } from '../domain/extra-specs/parse';
import { costOfSelectors } from './selector';

/** Steps of all expressions of one request together, for one device: an instance's are evaluated for each distinct device. */
export const MAX_REQUEST_COST = 5_000;

/**
 * Checks the expressions of a resolved spec.
 *
 * @param ownCount  number of requests that are not by extra specs
 * @throws BerthError `invalid_argument / bad_selector` for an expression that can't be read, with its place, and where all
 *   together cost too much.
 */
export function requireSelectors(
  { deviceRequests }: Pick<DevicesAsked, 'deviceRequests'>,
  at: string,
  ownCount: number,
): void {
  let cost = 0;
  for (const [n, { name, firstAvailable }] of deviceRequests.entries()) {
    for (const [m, { selectors }] of firstAvailable.entries()) {
      for (const [k, text] of selectors.entries()) {
        const field =
          n < ownCount
            ? `${at}.device_requests[${n}].first_available[${m}].selectors[${k}]`
            : `${at}.extra_specs.${DEVICE_SCOPE}${name}`;
        cost += requireSelector(text, field);
        if (cost <= MAX_REQUEST_COST) continue;
        const message = `${field}: the expressions up to here may take ${cost} steps for a device, more than ${MAX_REQUEST_COST} for a request`;
        throw invalidArgument('bad_selector', message, field);
      }
    }
  }
}

function requireSelector(text: string, field: string): number {
  try {
    return costOfSelectors(text);
  } catch (thrown) {
    const why = (thrown as Error).message.split('\n')[0];
    throw invalidArgument('bad_selector', `${field} can't be read: ${why}`, field);
  }
}
