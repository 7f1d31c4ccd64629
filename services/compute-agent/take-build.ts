import { ACK, REQUEUE, type Settlement } from '#libs/bus/port';
import type { BuildInstance } from '#libs/contracts/messages';
import { type BuildEnd, carriedAs } from './builds';
import type { Host } from './host';
import { judgeBuild } from './instance-claim';
import type { Carried } from './ledger';
import { DESTROYED, logFields, tell } from './tell';

/** Does what a BuildInstance says, or says why not; the message is settled when the conductors can know. */
export async function takeBuild(host: Host, build: BuildInstance): Promise<Settlement> {
  const { log, counts } = host;
  await host.ending.idle(build.instanceUuid);
  const judgement = judge(host, build);
  switch (judgement.kind) {
    case 'build':
      return answer(host, build, await run(host, build));
    case 'join':
      return answer(host, build, await join(host, build, judgement.carried));
    case 'refuse': {
      const { reason, message } = judgement;
      counts.refusals.inc({ reason });
      log.info({ ...logFields(host, build), reason }, message);
      return tell(host, build, { outcome: 'refused', reason, message });
    }
    case 'ended':
      return tell(host, build, DESTROYED);
    case 'ignore':
      log.debug(logFields(host, build), 'ignored an attempt older than the one that is here');
      return ACK;
  }
}

function judge({ ledger, destroyed, facts, driver, others, clock }: Host, build: BuildInstance) {
  const uuid = build.instanceUuid;
  return judgeBuild(build, ledger.get(uuid), destroyed.attemptOf(uuid), {
    host: facts.name,
    inventories: driver.capacity().inventories,
    used: ledger.used(),
    external: others.usage,
    nowMs: clock.now(),
  });
}

async function run(host: Host, build: BuildInstance): Promise<BuildEnd> {
  const { clock, counts, log, builds } = host;
  const startedAtMs = clock.now();
  const running = builds.run(build);
  host.changed();
  const end = await running;
  host.changed();
  counts.builds.inc({ outcome: end.kind });
  counts.buildSeconds.observe({ outcome: end.kind }, (clock.now() - startedAtMs) / 1000);
  if (end.kind === 'failed') log.warn({ ...logFields(host, build), error: end.error }, 'build failed');
  else log.debug({ ...logFields(host, build), outcome: end.kind }, 'build ended');
  return end;
}

/** The instance is here, by this attempt or one before it: from now on it is this one's. */
async function join({ ledger, builds, journal }: Host, build: BuildInstance, carried: Carried): Promise<BuildEnd> {
  const adopted = { ...carriedAs(build, carried.state), resources: carried.resources };
  ledger.put(adopted);
  builds.extend(build.instanceUuid, build.deadlineAtMs);
  const underWay = builds.underWay(build.instanceUuid);
  if (underWay) return underWay;
  await journal.put(adopted);
  return { kind: 'active' };
}

function answer(host: Host, build: BuildInstance, end: BuildEnd): Promise<Settlement> {
  switch (end.kind) {
    case 'active':
      return tell(host, build, { outcome: 'active' });
    case 'failed':
      return tell(host, build, { outcome: 'failed', reason: end.error.reason, message: end.error.message });
    case 'destroyed':
      return tell(host, build, DESTROYED);
    case 'handed_back':
      return Promise.resolve(REQUEUE);
  }
}
