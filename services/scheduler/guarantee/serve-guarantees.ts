import { answer } from '#libs/bus/typed-calls';
import {
  deleteGuaranteeMethod,
  type GuaranteeStatus,
  type ListGuaranteesRequest,
  type ListGuaranteesResponse,
  listGuaranteesMethod,
  type SetGuaranteeRequest,
  setGuaranteeMethod,
} from '#libs/contracts/guarantees';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError } from '#libs/domain/errors';
import type { CommitResult, DeleteGuarantee, WriteGuarantee } from '#libs/placement/port/placement-store';
import { completeRequest } from '../decision/complete-request';
import type { SelectDeps } from '../decision/select-destinations';
import { type FollowDeps, lookAtGuarantees } from './follow-guarantees';
import { headroomOf, statusOf } from './guarantee-status';
import type { KeptGuarantee } from './kept-guarantee';

export interface GuaranteeCallDeps extends FollowDeps {
  readonly select: SelectDeps;
  readonly catchUp: () => Promise<void>;
}

/**
 * The calls about guarantees, for operators.
 *
 * @throws BerthError `not_found / no_such_guarantee`; `resource_exhausted / too_many_guarantees`; `unavailable`.
 */
export function guaranteeCalls(deps: GuaranteeCallDeps, requireReady: () => void) {
  return {
    ...answer(listGuaranteesMethod, async (request) => {
      requireReady();
      return listGuarantees(request, deps);
    }),
    ...answer(setGuaranteeMethod, async ({ guarantee }: SetGuaranteeRequest) => {
      requireReady();
      await write({ kind: 'write_guarantee', guarantee }, deps);
      await lookAtGuarantees(deps);
      return { guarantee: await statusNamed(guarantee.name, deps) };
    }),
    ...answer(deleteGuaranteeMethod, async ({ name }) => {
      requireReady();
      await write({ kind: 'delete_guarantee', name }, deps);
      deps.guarantees.bring(deps.clock.now());
      return {};
    }),
  };
}

async function listGuarantees(
  { name, requestSpec }: ListGuaranteesRequest,
  deps: GuaranteeCallDeps,
): Promise<ListGuaranteesResponse> {
  const { guarantees, clock, classify, select } = deps;
  await deps.catchUp();
  await lookAtGuarantees(deps);
  const shown = name === '' ? guarantees.kept.map((one) => statusOf(one, guarantees)) : [await statusNamed(name, deps)];
  const asked = requestSpec && completeRequest(classify(requestSpecCodec.encode(requestSpec)), select.fleet);
  return { guarantees: shown, headroom: asked && headroomOf(asked, clock.now(), select) };
}

async function statusNamed(name: string, { guarantees }: GuaranteeCallDeps): Promise<GuaranteeStatus> {
  const found = guarantees.kept.find((one: KeptGuarantee) => one.guarantee.name === name);
  if (!found) throw noSuchGuarantee(name);
  return statusOf(found, guarantees);
}

async function write(command: WriteGuarantee | DeleteGuarantee, { select, clock, log }: GuaranteeCallDeps) {
  const result = await select.placement.commit({ ...command, atMs: clock.now() });
  if (result.kind !== 'committed') throw refusalOf(result);
  select.mirror.apply(result.change);
  const name = command.kind === 'write_guarantee' ? command.guarantee.name : command.name;
  log.info({ event: 'guarantee_changed', guarantee: name, command: command.kind }, `guarantee '${name}' changed`);
}

function refusalOf(result: CommitResult): BerthError {
  if (result.kind === 'not_found') return noSuchGuarantee(result.key);
  if (result.kind === 'full') {
    const message = `there may be ${result.most} guarantees: delete one first`;
    return new BerthError('resource_exhausted', 'too_many_guarantees', message);
  }
  return new BerthError('internal', 'unexpected_commit', `a guarantee was answered '${result.kind}'`);
}

function noSuchGuarantee(name: string): BerthError {
  return new BerthError('not_found', 'no_such_guarantee', `there is no guarantee '${name}'`);
}
