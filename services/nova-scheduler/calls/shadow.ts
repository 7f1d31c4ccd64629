import { sleep } from '#libs/domain/clock';
import type { RpcMethod } from '#libs/oslo/dispatch';
import type { Mirror } from '#libs/placement/mirror/mirror';
import { type Asked, selectDestinations } from '../decision/select-destinations';
import { NoHost } from '../request/no-host';
import { readArguments, type SelectCallDeps } from './select-destinations';

/** The shadow's finding for an instance: `alternate` when Nova chose one of Berth's alternates. */
export type ShadowOutcome = 'same' | 'alternate' | 'different' | 'neither' | 'only_nova' | 'only_berth';

/**
 * `select_destinations` of a shadow: decides and claims nothing, waits for the claim of the scheduler that answers, and counts whether both
 * chose alike. Of a host that Nova chose and Berth did not, the log says why.
 */
export function shadowCall(deps: SelectCallDeps, closing: AbortSignal): RpcMethod {
  return async (args, { context }) => {
    const { log, clock, mirror, facts, measured, config } = deps;
    const call: Asked = readArguments(args, context['user_id'], config.maxInstances);
    const before = new Map(call.instanceUuids?.map((uuid) => [uuid, rootsOf(mirror, uuid)]));
    const startedAtMs = clock.elapsed();
    const decided = await selectDestinations({ ...call, withAlternates: true, isDryRun: true }, deps).catch(
      (thrown: unknown) => {
        if (thrown instanceof NoHost) return thrown;
        throw thrown;
      },
    );
    const tookMs = clock.elapsed() - startedAtMs;
    for (const [i, [instanceUuid, held]] of [...before].entries()) {
      const root = await claimedRoot(instanceUuid, held, deps, closing);
      const nova = root === undefined ? undefined : facts.node(root)?.host;
      const ours = decided instanceof NoHost ? [] : (decided.selections[i] ?? []).map(({ serviceHost }) => serviceHost);
      const outcome = outcomeOf(ours, nova);
      measured.shadowed.inc({ outcome });
      const fields = { event: 'nova_shadow', outcome, instanceUuid, berth: ours, nova, tookMs };
      if (outcome === 'same' || outcome === 'neither') log.debug(fields, 'both schedulers chose alike');
      else log.info({ ...fields, why: await why(call, decided, nova, deps) }, 'the schedulers chose differently');
    }
    return { kind: 'result', value: null };
  };
}

/** @param ours  Berth's choice, then its alternates */
export function outcomeOf(ours: readonly string[], nova: string | undefined): ShadowOutcome {
  const [chosen] = ours;
  if (nova === undefined) return chosen === undefined ? 'neither' : 'only_berth';
  if (chosen === undefined) return 'only_nova';
  if (chosen === nova) return 'same';
  return ours.includes(nova) ? 'alternate' : 'different';
}

/** Why Berth did not choose Nova's host: what refuses it, by the present state, or that others weigh more. */
async function why(call: Asked, decided: object, nova: string | undefined, deps: SelectCallDeps): Promise<string> {
  if (decided instanceof NoHost) return decided.reason;
  if (nova === undefined) return 'Nova claimed nothing';
  const { request } = call;
  const spec = { ...request.spec, requested_destination: { ...request.spec.requested_destination, host: nova } };
  const there = {
    ...call,
    request: { ...request, spec } as Asked['request'],
    instanceUuids: call.instanceUuids?.slice(0, 1),
  };
  try {
    await selectDestinations({ ...there, isDryRun: true }, deps);
    return `${nova} suits and weighs less`;
  } catch (thrown) {
    return thrown instanceof NoHost ? thrown.reason : 'unknown';
  }
}

/** The root of the tree in which an instance holds something that it did not hold before; undefined when that does not come in time. */
async function claimedRoot(
  instanceUuid: string,
  before: ReadonlySet<string>,
  { mirror, clock, config }: SelectCallDeps,
  closing: AbortSignal,
): Promise<string | undefined> {
  const claimed = () => [...rootsOf(mirror, instanceUuid)].find((root) => !before.has(root));
  const found = claimed();
  if (found !== undefined) return found;
  const done = new AbortController();
  const stop = mirror.onChange(() => {
    if (claimed() !== undefined) done.abort();
  });
  await sleep(clock, config.shadowWaitMs, AbortSignal.any([done.signal, closing]));
  stop();
  return claimed();
}

function rootsOf(mirror: Mirror, consumerUuid: string): ReadonlySet<string> {
  const providers = Object.keys(mirror.consumer(consumerUuid)?.allocations ?? {});
  return new Set(providers.flatMap((uuid) => mirror.provider(uuid)?.rootUuid ?? []));
}
