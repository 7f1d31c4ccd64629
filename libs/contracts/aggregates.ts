import { berth } from '#generated/berth';
import { MAX_AGGREGATES } from '../domain/grouping/aggregate';
import { requireVisibleName } from '../domain/names';
import { hostName, hostNames, list, missing, name, requiredName, uuid, whole } from './checks';
import { type Codec, codec, type Method, type Mutable } from './codec';
import { MAX_NAMES } from './limits';
import type {
  AggregateAnswer,
  AggregateHostRequest,
  AggregateView,
  CreateAggregateRequest,
  ListAggregatesResponse,
  ListZonesResponse,
  NamedAggregate,
  UpdateAggregateRequest,
  ZoneView,
} from './messages';
import { metadataFromWire } from './metadata';

const wire = berth.aggregate.v1;

/** To `rpc.scheduler`: adds a host aggregate. */
export const createAggregateMethod: Method<CreateAggregateRequest, AggregateAnswer> = {
  request: codec(
    'berth.aggregate.v1.CreateAggregateRequest',
    wire.CreateAggregateRequest,
    (request) => request,
    (request) => ({
      uuid: uuid(request.uuid, 'uuid'),
      name: requireVisibleName(requiredName(request.name, 'name'), 'name'),
      metadata: newMetadata(request.metadata, 'metadata'),
    }),
  ),
  response: answerCodec('berth.aggregate.v1.CreateAggregateResponse', wire.CreateAggregateResponse),
};

/** Zones and racks are found by what it says. */
function newMetadata(values: Readonly<Record<string, string>>, field: string) {
  const metadata = metadataFromWire(values, field);
  for (const text of Object.entries(metadata).flat()) requireVisibleName(text, field);
  return metadata;
}

/** To `rpc.scheduler`: all aggregates, or one with its hosts. */
export const listAggregatesMethod: Method<NamedAggregate, ListAggregatesResponse> = {
  request: codec(
    'berth.aggregate.v1.ListAggregatesRequest',
    wire.ListAggregatesRequest,
    (request) => request,
    (request) => ({ aggregate: name(request.aggregate, 'aggregate') }),
  ),
  response: codec(
    'berth.aggregate.v1.ListAggregatesResponse',
    wire.ListAggregatesResponse,
    ({ aggregates, hosts }) => ({ aggregates: aggregates as Mutable<AggregateView>[], hosts: hosts as string[] }),
    (response) => ({
      aggregates: list(response.aggregates, 'aggregates', MAX_AGGREGATES, aggregateFromWire),
      hosts: hostNames(response.hosts, 'hosts'),
    }),
  ),
};

/** To `rpc.scheduler`: renames an aggregate, or changes its metadata. */
export const updateAggregateMethod: Method<UpdateAggregateRequest, AggregateAnswer> = {
  request: codec(
    'berth.aggregate.v1.UpdateAggregateRequest',
    wire.UpdateAggregateRequest,
    ({ unsetMetadata, ...request }) => ({ ...request, unsetMetadata: unsetMetadata as string[] }),
    (request) => ({
      aggregate: requiredName(request.aggregate, 'aggregate'),
      name: requireVisibleName(name(request.name, 'name'), 'name'),
      setMetadata: newMetadata(request.setMetadata, 'set_metadata'),
      unsetMetadata: list(request.unsetMetadata, 'unset_metadata', MAX_NAMES, requiredName),
    }),
  ),
  response: answerCodec('berth.aggregate.v1.UpdateAggregateResponse', wire.UpdateAggregateResponse),
};

/** To `rpc.scheduler`: puts a host into an aggregate. */
export const addAggregateHostMethod: Method<AggregateHostRequest, AggregateAnswer> = {
  request: codec(
    'berth.aggregate.v1.AddAggregateHostRequest',
    wire.AddAggregateHostRequest,
    (request) => request,
    hostRequestFromWire,
  ),
  response: answerCodec('berth.aggregate.v1.AddAggregateHostResponse', wire.AddAggregateHostResponse),
};

/** To `rpc.scheduler`: takes a host out of an aggregate. */
export const removeAggregateHostMethod: Method<AggregateHostRequest, AggregateAnswer> = {
  request: codec(
    'berth.aggregate.v1.RemoveAggregateHostRequest',
    wire.RemoveAggregateHostRequest,
    (request) => request,
    hostRequestFromWire,
  ),
  response: answerCodec('berth.aggregate.v1.RemoveAggregateHostResponse', wire.RemoveAggregateHostResponse),
};

/** To `rpc.scheduler`: deletes an aggregate without hosts. */
export const deleteAggregateMethod: Method<NamedAggregate, AggregateAnswer> = {
  request: codec(
    'berth.aggregate.v1.DeleteAggregateRequest',
    wire.DeleteAggregateRequest,
    (request) => request,
    (request) => ({ aggregate: requiredName(request.aggregate, 'aggregate') }),
  ),
  response: answerCodec('berth.aggregate.v1.DeleteAggregateResponse', wire.DeleteAggregateResponse),
};

/** To `rpc.scheduler`: the availability zones; of one, its hosts too. */
export const listZonesMethod: Method<{ readonly name: string }, ListZonesResponse> = {
  request: codec(
    'berth.aggregate.v1.ListZonesRequest',
    wire.ListZonesRequest,
    (request) => request,
    (request) => ({ name: name(request.name, 'name') }),
  ),
  response: codec(
    'berth.aggregate.v1.ListZonesResponse',
    wire.ListZonesResponse,
    ({ zones, hosts }) => ({ zones: zones as ZoneView[], hosts: hosts as string[] }),
    (response) => ({
      zones: list(response.zones, 'zones', MAX_AGGREGATES + 1, zoneFromWire),
      hosts: hostNames(response.hosts, 'hosts'),
    }),
  ),
};

function answerCodec(type: string, message: typeof wire.CreateAggregateResponse): Codec<AggregateAnswer> {
  return codec(
    type,
    message,
    ({ aggregate }: AggregateAnswer) => ({ aggregate: aggregate as Mutable<AggregateView> }),
    ({ aggregate }) => ({ aggregate: aggregateFromWire(aggregate, 'aggregate') }),
  );
}

function hostRequestFromWire(request: { readonly aggregate: string; readonly host: string }): AggregateHostRequest {
  return { aggregate: requiredName(request.aggregate, 'aggregate'), host: hostName(request.host, 'host') };
}

function aggregateFromWire(value: berth.aggregate.v1.IAggregate | null | undefined, field: string): AggregateView {
  if (!value) throw missing(field);
  const aggregate = value as berth.aggregate.v1.Aggregate;
  return {
    uuid: uuid(aggregate.uuid, `${field}.uuid`),
    name: requiredName(aggregate.name, `${field}.name`),
    metadata: metadataFromWire(aggregate.metadata, `${field}.metadata`),
    createdAtMs: whole(aggregate.createdAtMs, `${field}.created_at_ms`),
    updatedAtMs: whole(aggregate.updatedAtMs, `${field}.updated_at_ms`),
    hostCount: aggregate.hostCount,
  };
}

function zoneFromWire(value: berth.aggregate.v1.IZone, field: string): ZoneView {
  const { name: zone, hostCount, availableCount } = value as berth.aggregate.v1.Zone;
  return { name: requiredName(zone, `${field}.name`), hostCount, availableCount };
}
