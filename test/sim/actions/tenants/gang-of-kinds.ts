import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { HOSTS } from '../../settings';
import { pick, type World } from '../common';
import { send, tenant } from './requests';

/** A leader and some workers, one or more of which must be there; often on so few hosts that one fails for good. */
export function buildGangOfKinds(random: Random): (world: World) => void {
  const uuids = Array.from({ length: 3 + randomInt(random, 2) }, () => random.uuid());
  const who = tenant(random);
  const specOf = (vcpus: number) => {
    const forceHosts = random.next() < 0.5 ? [pick(random, HOSTS)] : [];
    return requestSpecCodec.encode(requestSpec({ VCPU: vcpus }, { projectId: who, userId: 'user', forceHosts }));
  };
  const workers = uuids.length - 1;
  const minCount = 1 + randomInt(random, workers);
  const requestId = random.uuid();
  const furtherMembers = [{ requestSpec: specOf(1), count: workers, minCount, name: 'worker' }];
  const request = { who, requestId, uuidsIn: () => uuids, requestSpec: specOf(2), furtherMembers };
  return (world) => send(world, request);
}
