import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { WITHIN } from '../../watches/within-watch';
import type { World } from '../common';
import { putIntoRacks } from '../racks';
import { send, tenant } from './requests';

/** Two requests at once for members of one group, which stays within a rack: two schedulers choose it, and one of them is right. */
export function buildGangInRack(random: Random): (world: World) => void {
  const who = tenant(random);
  const within = { levels: ['rack'], required: 1 };
  const group = { id: `${random.uuid()} ${WITHIN}`, policy: 'soft-affinity', maxPerHost: 1, within } as const;
  const rebuildPolicy = random.next() < 0.5 ? 'evacuate' : 'never';
  const spec = requestSpec({ VCPU: 1, MEMORY_MB: 256 }, { projectId: who, userId: 'user', group, rebuildPolicy });
  const encoded = requestSpecCodec.encode(spec);
  const requests = Array.from({ length: 2 }, () => {
    const uuids = Array.from({ length: 1 + randomInt(random, 2) }, () => random.uuid());
    return { who, requestId: random.uuid(), uuidsIn: () => uuids, requestSpec: encoded, minCount: uuids.length };
  });
  return (world) => {
    void putIntoRacks(world).then((isDone) => {
      if (isDone) for (const request of requests) send(world, request);
    });
  };
}
