import { callMethod } from '#libs/bus/typed-calls';
import { createGroupMethod } from '#libs/contracts/groups';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { BUDGETED, LEAST_AVAILABLE } from '../../watches/budget-watch';
import { confirmed, type World } from '../common';
import { moveAll } from '../moves';
import { operate } from '../operations';
import { ofACrowd } from '../queueing';
import { send, tenant } from './requests';

/** Members of a stored group with a budget, which operators then migrate all at once: each by itself, or claimed together. */
export function buildUnderBudget(random: Random): (world: World) => void {
  const who = tenant(random);
  const name = `${random.uuid()}-${BUDGETED}`;
  const uuids = Array.from({ length: LEAST_AVAILABLE + 1 + randomInt(random, 2) }, () => random.uuid());
  const group = { id: name, policy: undefined, maxPerHost: 0 } as const;
  const spec = requestSpec({ VCPU: 1, MEMORY_MB: 256 }, { projectId: who, userId: 'user', group });
  const admission = { ...ofACrowd(random), timeLimitMs: 0 };
  const request = { who, requestId: random.uuid(), uuidsIn: () => uuids, requestSpec: requestSpecCodec.encode(spec) };
  const isTogether = random.next() < 0.5;
  const afterMs = 3_000 + random.next() * 3_000;
  const pausesMs = uuids.map(() => random.next() ** 2 * 2_000);
  return (world) => {
    const { fleet, checker } = world;
    const { bus } = fleet.member(who);
    const rules = { policy: 'soft-anti-affinity', maxPerHost: 1 } as const;
    const created = { projectId: who, name, ...rules, metadata: { min_available: String(LEAST_AVAILABLE) } };
    const creating = callMethod({ bus, queue: RPC_SCHEDULER }, createGroupMethod, created, { timeoutMs: 2_000 });
    void confirmed(creating).then((isDone) => isDone && send(world, { ...request, admission }));
    fleet.later(afterMs, () => {
      if (isTogether) return moveAll(world, uuids, 'migrate', pausesMs);
      for (const [n, uuid] of uuids.entries()) {
        fleet.later(pausesMs[n] ?? 0, () => {
          const latest = checker.known.get(uuid)?.latest;
          if (latest) operate(world, latest, 'migrate', true);
        });
      }
    });
  };
}
