import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { operateInstanceMethod } from '#libs/contracts/operations';
import { BUILD_REQUESTS, RPC_CONDUCTOR } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Instance } from '#libs/domain/instance';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { confirmed, pick } from '../actions/common';
import { classOf } from './rack';
import type { Perform, RingRun } from './ring-checker';

/** A tenant wants nodes. */
export function build(random: Random): Perform {
  const who = pick(random, ['tenant-a', 'tenant-b']);
  const count = random.next() < 0.25 ? 2 + randomInt(random, 2) : 1;
  const uuids = Array.from({ length: count }, () => random.uuid());
  const requestId = random.uuid();
  const resources = { [classOf(random.next() < 0.7 ? 'GOLD' : 'SILVER')]: 1 };
  const spec = requestSpecCodec.encode(requestSpec(resources, { projectId: who, userId: 'user' }));
  return ({ fleet, checker }) => {
    const about = { requestId, requestSpec: spec, count, name: '', instanceUuids: uuids };
    const { bus } = fleet.member(who);
    const sent = castTyped({ bus, queue: BUILD_REQUESTS }, buildRequestCodec, about, { id: requestId });
    void confirmed(sent).then((isConfirmed) => {
      if (isConfirmed) for (const uuid of uuids) checker.asked.add(uuid);
    });
  };
}

export function terminate(random: Random): Perform {
  const place = random.next();
  return (run) => {
    const instance = instanceAt(run, place);
    if (instance) terminateNow(run, instance);
  };
}

/** A tenant changes its mind while a node is being deployed. */
export function terminateSoon(random: Random): Perform {
  const begin = build(random);
  const afterMs = random.next() * 5_000;
  return (run) => {
    const before = new Set(run.checker.instances.keys());
    begin(run);
    run.fleet.time.at(run.fleet.time.nowMs + afterMs, () => {
      for (const [uuid, instance] of run.checker.instances) if (!before.has(uuid)) terminateNow(run, instance);
    });
  };
}

/** A tenant stops an instance, or starts one that is stopped. */
export function stopOrStart(random: Random): Perform {
  const place = random.next();
  return (run) => {
    const { fleet, checker } = run;
    const instance = instanceAt(run, place);
    if (instance === undefined) return;
    const { uuid: instanceUuid, projectId, state, version } = instance;
    if (state !== 'active' && state !== 'stopped') return;
    checker.mayStop.add(instanceUuid);
    const operation = state === 'active' ? 'stop' : 'start';
    const request = { instanceUuid, operation, version } as const;
    void confirmed(
      callMethod({ bus: fleet.member(projectId).bus, queue: RPC_CONDUCTOR }, operateInstanceMethod, request, {
        timeoutMs: 2_000,
      }),
    );
  };
}

function terminateNow({ fleet, checker }: RingRun, { uuid: instanceUuid, projectId }: Instance): void {
  checker.terminating.add(instanceUuid);
  const { bus } = fleet.member(projectId);
  void confirmed(
    castTyped({ bus, queue: BUILD_REQUESTS }, terminateInstanceCodec, { instanceUuid, projectId: '' }),
  ).then((isConfirmed) => isConfirmed && checker.terminated.add(instanceUuid));
}

function instanceAt({ checker }: RingRun, place: number): Instance | undefined {
  const all = [...checker.instances.values()].filter(({ state }) => state !== 'deleted' && state !== 'error');
  return all[Math.floor(place * all.length)];
}
