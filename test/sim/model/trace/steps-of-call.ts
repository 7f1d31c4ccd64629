import type { Instance } from '#libs/domain/instance';
import { attemptNumber } from '#libs/domain/instance';
import type { UpdateGuards, UpdateResult } from '#libs/instances/store';
import type {
  AcquireHosts,
  Command,
  CommitResult,
  HostGrant,
  HostHolder,
  HostReport,
  JoinPool,
  NodeWrite,
  NodeWriteResult,
  PoolGrant,
  ReleaseHosts,
  ReportResult,
} from '#libs/placement/port/placement-store';
import type { StoreCall } from '#libs/simulation/store-server';
import type { LeaseStep } from '../leases';
import type { PoolStep } from '../pools';
import type { ProtocolStep } from '../protocol';
import type { RecordStep, Version } from '../records';
import { stepsOfCommit } from './steps-of-commit';

/** When a call was done, and whether by the store of a fleet's top. */
interface Where {
  readonly atMs: number;
  readonly isTop: boolean;
}

/** The steps of the protocol that a call of a store took. Only at a top are conductors' claims reservations. */
export function stepsOfCall(call: StoreCall, result: unknown, where: Where): ProtocolStep[] {
  const steps = allStepsOf(call, result, where);
  return where.isTop ? steps : steps.filter(({ of }) => of !== 'reservations');
}

function allStepsOf({ name, args, port }: StoreCall, result: unknown, where: Where): ProtocolStep[] {
  const { atMs, isTop } = where;
  switch (`${port}.${name}`) {
    case 'placement.commit':
      return stepsOfCommit(args[0] as Command, result as CommitResult);
    case 'placement.reportHost':
      return stepsOfReport(args[0] as HostReport, result as ReportResult);
    case 'placement.acquireHosts':
      return leases(granted(args[0] as AcquireHosts, result as HostGrant[]));
    case 'placement.releaseHosts':
      return leases(givenBack(args[0] as ReleaseHosts, atMs));
    case 'placement.writeNode':
      return leases(nodeWritten(args[0] as NodeWrite, result as NodeWriteResult, atMs));
    case 'placement.joinPool':
      return pools(joined(args[0] as JoinPool, result as PoolGrant));
    case 'placement.leavePool':
      return pools(left(args[0] as HostHolder & { readonly pool: string }));
    case 'leases.acquire':
      return leases(leased(args, result as { readonly epoch: number } | undefined, atMs));
    case 'leases.release':
      return leases([{ kind: 'release', name: `task ${String(args[0])}`, holder: String(args[1]), atMs }]);
    case 'instances.create':
      return created(result as Created, isTop);
    case 'instances.update':
      return updated(args, result as UpdateResult<Instance>, where);
    case 'instances.markPublished':
      return records([{ kind: 'mark', uuid: String(args[0]), version: Number(args[1]) }]);
    default:
      return [];
  }
}

function stepsOfReport({ host, epoch, atMs }: HostReport, result: ReportResult): ProtocolStep[] {
  if (result.kind !== 'committed' && result.kind !== 'unchanged') return [];
  const offers = stepsOfCommit({ kind: 'note_dead', host, atMs }, result);
  return [...leases([{ kind: 'report', name: nameOf(host), epoch, atMs }]), ...offers];
}

function granted({ hosts, leaseMs, atMs, formerRun, ...by }: AcquireHosts, grants: readonly HostGrant[]): LeaseStep[] {
  const former = formerRun && holderOf({ ...by, agentRun: formerRun });
  return grants.flatMap((grant, n): LeaseStep[] => {
    if (grant.kind !== 'granted') return [];
    const name = nameOf(hosts[n] as string);
    return [{ kind: 'acquire', name, holder: holderOf(by), leaseMs, epoch: grant.epoch, former, atMs }];
  });
}

function givenBack({ hosts, ...by }: ReleaseHosts, atMs: number): LeaseStep[] {
  return hosts.map((host) => ({ kind: 'release', name: nameOf(host), holder: holderOf(by), atMs }));
}

function nodeWritten({ host, epoch }: NodeWrite, { kind }: NodeWriteResult, atMs: number): LeaseStep[] {
  return kind === 'written' ? [{ kind: 'write', name: nameOf(host), epoch, atMs }] : [];
}

function leased(
  [name, holder, leaseMs]: readonly unknown[],
  grant: { readonly epoch: number } | undefined,
  atMs: number,
) {
  if (grant === undefined) return [];
  const [of, by, ms] = [`task ${String(name)}`, String(holder), Number(leaseMs)];
  return [{ kind: 'acquire', name: of, holder: by, leaseMs: ms, epoch: grant.epoch, atMs }] satisfies LeaseStep[];
}

function joined({ pool, serviceHost, agentRun, formerRun, ...terms }: JoinPool, grant: PoolGrant): PoolStep[] {
  if (grant.kind !== 'member') return [];
  const { epoch, members } = grant.pool;
  const { atMs, weight, leaseMs } = terms;
  const who = { pool, service: serviceHost, run: agentRun, former: formerRun };
  return [{ kind: 'join', ...who, atMs, weight, leaseMs, epoch, members: members.map((one) => one.serviceHost) }];
}

function left({ pool, serviceHost, agentRun }: HostHolder & { readonly pool: string }): PoolStep[] {
  return [{ kind: 'leave', pool, service: serviceHost, run: agentRun }];
}

interface Created {
  readonly created: boolean;
  readonly instances: readonly Instance[];
}

function created({ created: isNew, instances }: Created, isTold: boolean): ProtocolStep[] {
  if (!isNew) return [];
  return instances.flatMap((one) => [...records([{ kind: 'create', next: versionOf(one, isTold) }]), ...atTop(one)]);
}

function updated(
  [next, guards]: readonly unknown[],
  { updated: isDone }: UpdateResult<Instance>,
  { atMs, isTop }: Where,
) {
  if (!isDone) return [];
  const { fence } = (guards ?? {}) as UpdateGuards;
  const fenced = fence ? leases([{ kind: 'fenced write', name: nameOf(fence.host), epoch: fence.epoch, atMs }]) : [];
  const instance = next as Instance;
  return [...fenced, ...records([{ kind: 'update', next: versionOf(instance, isTop) }]), ...atTop(instance)];
}

export function versionOf(instance: Instance, isTold: boolean): Version {
  const { uuid, version, state, host, attempts, claimToken: token } = instance;
  const begun = attempts.map(({ number, host: on }) => `${number} on ${on}`);
  return { uuid, version, state, host, attempt: attemptNumber(instance), begun, token, isTold };
}

/** The cells that the record of a top names. */
export function atTop({ uuid, state, cell }: Instance): ProtocolStep[] {
  const cells = [cell?.name, cell?.move?.to, cell?.left?.name].filter((name) => name !== undefined);
  return [{ of: 'reservations', step: { kind: 'record', uuid, state, cells } }];
}

function nameOf(host: string): string {
  return `host ${host}`;
}

function holderOf({ serviceHost, agentRun }: HostHolder): string {
  return `${serviceHost} ${agentRun}`;
}

function leases(steps: readonly LeaseStep[]): ProtocolStep[] {
  return steps.map((step) => ({ of: 'leases', step }));
}

function pools(steps: readonly PoolStep[]): ProtocolStep[] {
  return steps.map((step) => ({ of: 'pools', step }));
}

function records(steps: readonly RecordStep[]): ProtocolStep[] {
  return steps.map((step) => ({ of: 'records', step }));
}
