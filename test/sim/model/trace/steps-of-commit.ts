import type { Allocations } from '#libs/domain/consumer';
import { capacityOf } from '#libs/domain/inventory';
import { asWrite, isAllocationCommand } from '#libs/placement/commands/allocation-command';
import type { Change, Command, CommitResult, ConsumerWrite } from '#libs/placement/port/placement-store';
import type { Amounts, ClaimStep, Write } from '../claims';
import type { ProtocolStep } from '../protocol';

/** The steps that a commit took: what was asked of holdings, and what its change says of inventories. */
export function stepsOfCommit(command: Command, result: CommitResult): ProtocolStep[] {
  if (result.kind !== 'committed') return [];
  const { change, claimToken: token } = result;
  const [offers, counts] = [claims(offersOf(change)), claims(countsOf(change))];
  const forgotten = command.kind === 'delete_host' ? forgets(command.host, command.atMs) : [];
  if (!isAllocationCommand(command) && command.kind !== 'reshape') return [...offers, ...counts, ...forgotten];
  const { consumers, isForced } =
    command.kind === 'reshape' ? { consumers: command.consumers, isForced: false } : forced(asWrite(command));
  const writes = consumers.map(writeOf);
  const counted = consumers.filter(({ owner }) => owner === 'conductor');
  return [
    ...offers,
    ...claims([{ kind: 'write', writes, isForced, token }]),
    ...counts,
    ...reservations('reserve', counted.filter(takes)),
    ...reservations(
      'unreserve',
      counted.filter((one) => !takes(one)),
    ),
  ];
}

function forced({ consumers, force = false }: { consumers: readonly ConsumerWrite[]; force?: boolean }) {
  return { consumers, isForced: force };
}

function takes({ allocations }: Pick<ConsumerWrite, 'allocations'>): boolean {
  return Object.keys(allocations).length > 0;
}

function writeOf({ uuid, owner, projectId, consumerType, allocations, expect }: ConsumerWrite): Write {
  const expects = expect.kind === 'claim' ? ({ kind: 'claim', token: expect.claimToken } as const) : expect;
  return { uuid, owner, project: projectId, type: consumerType ?? '', holds: amountsOf(allocations), expects };
}

export function amountsOf(allocations: Allocations): Amounts {
  const amounts = Object.entries(allocations).flatMap(([provider, resources]) =>
    Object.entries(resources).map(([name, amount]) => [`${provider} ${name}`, amount] as const),
  );
  return Object.fromEntries(amounts);
}

export function offersOf({ providers = [], deletedProviders = [] }: Change): ClaimStep[] {
  const offered = providers.map(({ uuid, inventories }): ClaimStep => {
    const capacity = Object.entries(inventories).map(([name, one]) => [`${uuid} ${name}`, capacityOf(one)] as const);
    return { kind: 'offer', provider: uuid, capacity: Object.fromEntries(capacity) };
  });
  return [...offered, ...deletedProviders.map((provider): ClaimStep => ({ kind: 'offer', provider, capacity: {} }))];
}

export function countsOf({ usages = [] }: Change): ClaimStep[] {
  return usages.map(({ providerUuid: provider, used }) => ({
    kind: 'count',
    provider,
    used: amountsOf({ [provider]: used }),
  }));
}

function forgets(host: string, atMs: number): ProtocolStep[] {
  return [{ of: 'leases', step: { kind: 'forget', name: `host ${host}`, atMs } }];
}

export function claims(steps: readonly ClaimStep[]): ProtocolStep[] {
  return steps.map((step) => ({ of: 'claims', step }));
}

/** Conductors' claims are reservations too, in the store of a top. */
export function reservations(
  kind: 'reserve' | 'unreserve',
  writes: readonly Pick<ConsumerWrite, 'uuid'>[],
): ProtocolStep[] {
  return writes.length === 0 ? [] : [{ of: 'reservations', step: { kind, uuids: writes.map(({ uuid }) => uuid) } }];
}
