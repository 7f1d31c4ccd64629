import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { DeviceRequest } from '#libs/domain/devices/device-request';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { TREE_HOST } from '../../fleet';
import { DEVICE_NAMES, type DeviceName, WORN } from '../../machine';
import type { Perform } from '../common';
import { pick } from '../common';
import { send, tenant } from './requests';

/** Some instances that want a device of a size, a whole one or else two parts, or any; some tolerate worn ones. */
export function buildWithDevice(random: Random): Perform {
  const who = tenant(random);
  const tolerations: Record<string, string> = random.next() < 0.3 ? { [WORN]: '*' } : {};
  const ofSize = (size: number, count: number, name: string) => ({
    name,
    count,
    selectors: [`device.attributes.size ${random.next() < 0.5 ? '==' : '>='} ${size}`],
    tolerations,
    capacity: {},
  });
  const firstAvailable = pick(random, [
    [ofSize(1, 1, '')],
    [ofSize(2, 1, '')],
    [ofSize(2, 1, 'whole'), ofSize(1, 2, 'parts')],
  ]);
  const deviceRequests: DeviceRequest[] = [{ name: 'card', firstAvailable }];
  const spec = requestSpec({ VCPU: 1 }, { projectId: who, userId: 'user', deviceRequests });
  const encoded = requestSpecCodec.encode(spec);
  const requests = Array.from({ length: 1 + randomInt(random, 3) }, () => {
    const uuid = random.uuid();
    return { who, requestId: random.uuid(), uuidsIn: () => [uuid], requestSpec: encoded };
  });
  return (world) => {
    for (const request of requests) send(world, request);
  };
}

/** A device of a host is worn for a while: what has it keeps it. */
export function deviceWears(random: Random): Perform {
  const device: DeviceName = pick(random, DEVICE_NAMES);
  const forMs = 2_000 + random.next() * 20_000;
  return ({ fleet }) => {
    fleet.note(TREE_HOST, `has a worn ${device}`);
    fleet.machines.get(TREE_HOST)?.wear(device, true);
    fleet.later(forMs, () => {
      fleet.note(TREE_HOST, `has its ${device} as good as new`);
      fleet.machines.get(TREE_HOST)?.wear(device, false);
    });
  };
}
