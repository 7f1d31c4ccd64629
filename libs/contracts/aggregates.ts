import { berth } from '#generated/berth';
import { MAX_AGGREGATES } from '../domain/grouping/aggregate';
import { hostName, hostNames, name, requiredName, uuid, whole } from './checks';
import { count, list } from './fields';
import { MAX_NAMES } from './limits';
import { message, type PlainOf } from './message';
import { FEW, KIB, MANY, ofServices, ofTenants } from './message-rules';
import { metadata } from './metadata';

const wire = berth.aggregate.v1;

const aggregate = message(wire.Aggregate, {
  uuid,
  name: requiredName,
  metadata,
  createdAtMs: whole,
  updatedAtMs: whole,
  hostCount: count,
});
export type AggregateView = PlainOf<typeof aggregate>;

/** To `rpc.scheduler`: adds a host aggregate. */
export const createAggregateMethod = {
  request: message(
    wire.CreateAggregateRequest,
    {
      uuid,
      name: requiredName,
      metadata,
    },
    { rule: ofServices(MANY) },
  ),
  response: message(wire.CreateAggregateResponse, { aggregate }),
};
export type CreateAggregateRequest = PlainOf<typeof createAggregateMethod.request>;
/** The aggregate as it is now; a deleted one as it was. */
export type AggregateAnswer = PlainOf<typeof createAggregateMethod.response>;

/** To `rpc.scheduler`: all aggregates, or one, by its uuid or name, with its hosts. */
export const listAggregatesMethod = {
  request: message(wire.ListAggregatesRequest, { aggregate: name }, { rule: ofServices(FEW) }),
  response: message(wire.ListAggregatesResponse, {
    aggregates: list(aggregate, MAX_AGGREGATES),
    hosts: hostNames,
  }),
};
export type ListAggregatesResponse = PlainOf<typeof listAggregatesMethod.response>;

/** To `rpc.scheduler`: renames an aggregate (not for name ''), or changes its metadata. */
export const updateAggregateMethod = {
  request: message(
    wire.UpdateAggregateRequest,
    {
      aggregate: requiredName,
      name,
      setMetadata: metadata,
      unsetMetadata: list(requiredName, MAX_NAMES),
    },
    { rule: ofServices(MANY) },
  ),
  response: message(wire.UpdateAggregateResponse, { aggregate }),
};
export type UpdateAggregateRequest = PlainOf<typeof updateAggregateMethod.request>;

/** To `rpc.scheduler`: puts a host into an aggregate. */
export const addAggregateHostMethod = {
  request: message(
    wire.AddAggregateHostRequest,
    { aggregate: requiredName, host: hostName },
    { rule: ofServices(FEW) },
  ),
  response: message(wire.AddAggregateHostResponse, { aggregate }),
};

/** To `rpc.scheduler`: takes a host out of an aggregate. */
export const removeAggregateHostMethod = {
  request: message(
    wire.RemoveAggregateHostRequest,
    { aggregate: requiredName, host: hostName },
    { rule: ofServices(FEW) },
  ),
  response: message(wire.RemoveAggregateHostResponse, { aggregate }),
};

/** To `rpc.scheduler`: deletes an aggregate without hosts. */
export const deleteAggregateMethod = {
  request: message(wire.DeleteAggregateRequest, { aggregate: requiredName }, { rule: ofServices(FEW) }),
  response: message(wire.DeleteAggregateResponse, { aggregate }),
};

const zone = message(wire.Zone, { name: requiredName, hostCount: count, availableCount: count });
export type ZoneView = PlainOf<typeof zone>;

/** To `rpc.scheduler`: the availability zones; of one, its hosts too. */
export const listZonesMethod = {
  request: message(wire.ListZonesRequest, { name }, { rule: ofTenants(4 * KIB, FEW) }),
  response: message(wire.ListZonesResponse, { zones: list(zone, MAX_AGGREGATES + 1), hosts: hostNames }),
};
export type ListZonesResponse = PlainOf<typeof listZonesMethod.response>;
