import { BUILT_STATES, type Instance } from '#libs/domain/instance';
import { INSTANCE_LOST, isEnded, membersByKind } from '#libs/domain/queueing/gang';
import type { Conductor } from '../../conductor';
import { lookAt } from '../../observation';
import { reconcileLoop } from '../../reconcile-loop';
import { membersOf } from '../../steps/settle-gangs';
import { deadBeforeMs, isDown, onDeadHosts } from './dead-hosts';

/**
 * Ends gangs that end at a loss (`onLoss`) and that dead hosts have brought below their minimum: what is on these hosts is recorded as
 * lost, while they are fenced, and the rest follows as after any loss. A gang that has its minimum without them goes on, and what is
 * there stays `unknown` until its host is back. At most so many gangs in one pass as instances are evacuated.
 */
export async function endGangsOnDead(c: Conductor): Promise<void> {
  const requestIds = new Set<string>();
  for await (const { records } of onDeadHosts(c)) {
    for (const { gang, requestId } of records.filter(isBuilt)) {
      if (gang?.onLoss === 'end' && requestIds.size < c.config.rebuildParallel) requestIds.add(requestId);
    }
  }
  for (const requestId of requestIds) await endIfBelow(c, requestId);
}

async function endIfBelow(c: Conductor, requestId: string): Promise<void> {
  const members = await membersOf(c, requestId);
  const hosts = await c.placement.hosts([...new Set(members.flatMap(({ host }) => host ?? []))]);
  const dead = new Set(hosts.filter((host) => isDown(host, deadBeforeMs(c))).map(({ name }) => name));
  const isOnDead = (member: Instance) => isBuilt(member) && dead.has(member.host ?? '');
  const lost = membersByKind(members).flatMap((ofKind) => {
    const left = ofKind.filter((member) => !isEnded(member) && !isOnDead(member)).length;
    return left < (ofKind[0]?.gang?.minCount ?? 0) ? ofKind.filter(isOnDead) : [];
  });
  await reconcileLoop(
    c,
    lost.map((member) => {
      const { host = '' } = member;
      const fault = { reason: INSTANCE_LOST, message: `its host ${host} is dead, and its gang ends at a loss` };
      return lookAt(member, { kind: 'given_up', host, fault });
    }),
  );
}

function isBuilt({ state, migration }: Instance): boolean {
  return BUILT_STATES.includes(state) && migration === undefined;
}
