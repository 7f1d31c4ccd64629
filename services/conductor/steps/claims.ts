import type { ConsumerWrite } from '#libs/placement/port/placement-store';
import type { Conductor } from '../context';
import type { Holds, RunningAt } from '../observation';

/** The claim that an instance holds now. What another owner holds under its uuid is not its claim. */
export async function readClaim(c: Conductor, uuid: string): Promise<Holds> {
  const [consumer] = await c.placement.consumers([uuid]);
  return consumer?.owner === 'conductor' ? { kind: 'claim', claimToken: consumer.claimToken } : { kind: 'none' };
}

/** Releases a claim. Releasing a superseded claim is a no-op. */
export async function release(c: Conductor, consumerUuid: string, claimToken: number): Promise<void> {
  await c.placement.commit({ kind: 'release_claim', atMs: c.clock.now(), consumerUuid, claimToken });
}

/** Releases whatever an instance holds: for records that are deleting, and so can't be given a new claim. */
export async function releaseHeld(c: Conductor, uuid: string): Promise<void> {
  const holds = await readClaim(c, uuid);
  if (holds.kind === 'claim') await release(c, uuid, holds.claimToken);
}

/**
 * Claims what a running instance uses, whether it fits or not: it runs. Answers with the token; undefined when it holds
 * something by now, or its provider is gone.
 */
export async function claimWhatRuns(c: Conductor, { providerUuid, instance }: RunningAt): Promise<number | undefined> {
  const { instanceUuid: uuid, projectId, userId, resources } = instance;
  const consumer: ConsumerWrite = {
    uuid,
    projectId,
    userId,
    consumerType: 'INSTANCE',
    owner: 'conductor',
    allocations: { [providerUuid]: resources },
    mappings: {},
    expect: { kind: 'absent' },
  };
  const atMs = c.clock.now();
  const result = await c.placement.commit({ kind: 'write_allocations', atMs, force: true, consumers: [consumer] });
  return result.kind === 'committed' ? result.claimToken : undefined;
}
