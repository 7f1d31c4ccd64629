import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { DeviceRequest } from '#libs/domain/devices/device-request';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { TREE_HOST } from '../../fleet';
import { DEVICE_NAMES, type DeviceName, WORN } from '../../machine';
import type { Perform, World } from '../common';
import { pick } from '../common';
import { send, tenant } from './requests';

/** Some instances that want, by a field or by an extra spec, a device of a size, a whole one or else two parts, or any; some tolerate worn ones. */
export function buildWithDevice(random: Random): Perform {
  return buildOnDevice(random, random.next() < 0.3);
}

function buildOnDevice(random: Random, isTolerant: boolean): Perform {
  const who = tenant(random);
  const tolerations: Record<string, string> = isTolerant ? { [WORN]: '*' } : {};
  const isBrief = WORN in tolerations && random.next() < 0.4;
  const ofSize = (size: number, count: number, name: string) => ({
    name,
    count,
    selectors: [`device.attributes.size ${random.next() < 0.5 ? '==' : '>='} ${size}`],
    tolerations,
    ...(isBrief ? { tolerationSeconds: { [WORN]: 3 } } : {}),
    capacity: {},
  });
  const firstAvailable = pick(random, [
    [ofSize(1, 1, '')],
    [ofSize(2, 1, '')],
    [ofSize(2, 1, 'whole'), ofSize(1, 2, 'parts')],
  ]);
  const [only] = firstAvailable.length === 1 && !isTolerant ? firstAvailable : [];
  const asked = only
    ? { extraSpecs: { 'device:card': `select=${only.selectors.join(' && ')}` } }
    : { deviceRequests: [{ name: 'card', firstAvailable }] satisfies DeviceRequest[] };
  const spec = requestSpec({ VCPU: 1 }, { projectId: who, userId: 'user', ...asked });
  const encoded = requestSpecCodec.encode(spec);
  const requests = Array.from({ length: 1 + randomInt(random, 3) }, () => {
    const uuid = random.uuid();
    return { who, requestId: random.uuid(), uuidsIn: () => [uuid], requestSpec: encoded };
  });
  return (world) => {
    for (const request of requests) send(world, request);
  };
}

/** A device of a host is worn for a while, or for good: what has it keeps it, or is to be moved away. */
export function deviceWears(random: Random): Perform {
  const device: DeviceName = pick(random, DEVICE_NAMES);
  const forMs = 2_000 + random.next() * 20_000;
  const evicts = random.next() < 0.5;
  const isForGood = evicts && random.next() < 0.5;
  return ({ fleet }) => {
    fleet.note(TREE_HOST, `has a worn ${device}${evicts ? ', to be left' : ''}`);
    fleet.machines.get(TREE_HOST)?.wear(device, true, evicts);
    if (isForGood) return;
    fleet.later(forMs, () => {
      fleet.note(TREE_HOST, `has its ${device} as good as new`);
      fleet.machines.get(TREE_HOST)?.wear(device, false);
    });
  };
}

/** Tenants build with devices, and one that is in use is to be left, for a while or for good: at once by some, later, or not at all. */
export function deviceIsLeft(random: Random): Perform {
  const builds = [buildOnDevice(random, true), buildOnDevice(random, false)];
  const afterMs = 3_000 + random.next() * 3_000;
  const place = random.next();
  const isFirst = random.next() < 0.5;
  const forMs = random.next() < 0.7 ? undefined : 6_000 + random.next() * 10_000;
  return (world) => {
    const { fleet } = world;
    for (const build of isFirst ? builds : builds.toReversed()) build(world);
    fleet.later(afterMs, () => {
      const machine = fleet.machines.get(TREE_HOST);
      const used = [...(machine?.running.values() ?? [])].flatMap(({ use }) => Object.keys(use));
      const devices = DEVICE_NAMES.filter((name) => used.includes(name));
      const device = devices[Math.floor(place * devices.length)];
      if (device === undefined) return;
      fleet.note(TREE_HOST, `has a worn ${device} in use, to be left`);
      machine?.wear(device, true, true);
      if (forMs !== undefined) fleet.later(forMs, () => machine?.wear(device, false));
    });
  };
}

/** Without faults all devices are to be left for good, by whom does not tolerate that. */
export function leaveDevices({ fleet }: World): void {
  fleet.note(TREE_HOST, 'has worn devices, to be left');
  for (const device of DEVICE_NAMES) fleet.machines.get(TREE_HOST)?.wear(device, true, true);
}
