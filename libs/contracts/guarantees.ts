import { berth } from '#generated/berth';
import { GUARANTEE_POLICIES, type Guarantee, MAX_GUARANTEES, MAX_LOST_AT_ONCE } from '../domain/grouping/guarantee';
import { priority } from './admission';
import { amounts, between, hostNameOrEmpty, name, operatorsName, requiredName, uuidOrEmpty, whole } from './checks';
import { count, flag, list, oneOf, optional, orEmpty, required } from './fields';
import { message, type PlainOf } from './message';
import { FEW, MANY, ofServices } from './message-rules';
import { requestSpec } from './request-spec';

const wire = berth.guarantee.v1;

/** Broken losses that a status names. */
export const MAX_BROKEN_SHOWN = 100;

const guarantee = message(wire.Guarantee, {
  name: operatorsName,
  lose: requiredName,
  count: between(1, MAX_LOST_AT_ONCE),
  aggregate: name,
  minPriority: priority,
  policy: oneOf(GUARANTEE_POLICIES),
  updatedAtMs: whole,
});

const brokenLoss = message(wire.BrokenLoss, {
  domains: list(requiredName, MAX_LOST_AT_ONCE),
  instances: count,
  unplaced: count,
  instanceUuid: uuidOrEmpty,
  nearestHost: hostNameOrEmpty,
  lacks: amounts,
  isCertain: flag,
});
export type BrokenLossView = PlainOf<typeof brokenLoss>;

const guaranteeStatus = message(wire.GuaranteeStatus, {
  guarantee: required(guarantee),
  losses: count,
  kept: count,
  instances: count,
  unread: count,
  broken: list(brokenLoss, MAX_BROKEN_SHOWN),
  hasTooManyLosses: flag,
});
export type GuaranteeStatus = PlainOf<typeof guaranteeStatus>;

const headroom = message(wire.Headroom, {
  fits: count,
  isAtLeast: flag,
  guarantee: name,
  breaksFirst: optional(brokenLoss),
});
export type HeadroomView = PlainOf<typeof headroom>;

/** To `rpc.scheduler`: guarantees, whether they hold, and what fits under them. For operators. */
export const listGuaranteesMethod = {
  request: message(
    wire.ListGuaranteesRequest,
    { name: orEmpty(operatorsName), requestSpec: optional(requestSpec) },
    { rule: ofServices(FEW) },
  ),
  response: message(wire.ListGuaranteesResponse, {
    guarantees: list(guaranteeStatus, MAX_GUARANTEES),
    headroom: optional(headroom),
  }),
};
export type ListGuaranteesRequest = PlainOf<typeof listGuaranteesMethod.request>;
export type ListGuaranteesResponse = PlainOf<typeof listGuaranteesMethod.response>;

/** To `rpc.scheduler`: sets a guarantee, instead of the one of its name. For operators. */
export const setGuaranteeMethod = {
  request: message(wire.SetGuaranteeRequest, { guarantee: required(guarantee) }, { rule: ofServices(MANY) }),
  response: message(wire.SetGuaranteeResponse, { guarantee: required(guaranteeStatus) }),
};
export type SetGuaranteeRequest = PlainOf<typeof setGuaranteeMethod.request>;

/** To `rpc.scheduler`: ends a guarantee. For operators. */
export const deleteGuaranteeMethod = {
  request: message(wire.DeleteGuaranteeRequest, { name: operatorsName }, { rule: ofServices(FEW) }),
  response: message(wire.DeleteGuaranteeResponse, {}),
};

export type GuaranteeTerms = Omit<Guarantee, 'updatedAtMs'>;
