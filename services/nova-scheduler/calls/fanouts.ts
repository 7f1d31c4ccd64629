import type { RpcMethod } from '#libs/oslo/dispatch';
import type { NovaAggregate, NovaFacts } from '../facts/nova-facts';
import { type AggregateObject, readAggregates, readInstanceUuids } from '../objects/tables';
import { list, text } from '../objects/versioned-object';

type Args = Parameters<RpcMethod>[0];

/** The fanouts of Nova's scheduler API: what changed of aggregates and instances. */
export function fanoutCalls(facts: NovaFacts): Readonly<Record<string, RpcMethod>> {
  const noted = (note: (args: Args) => void): RpcMethod => {
    return async (args) => {
      note(args);
      return { kind: 'result', value: null };
    };
  };
  const host = (args: Args) => text(args['host_name'], 'host_name');
  return {
    update_aggregates: noted((args) => {
      facts.putAggregates(readAggregates(args['aggregates'], 'aggregates').flatMap(aggregateOf));
    }),
    delete_aggregate: noted((args) => {
      for (const { uuid } of readAggregates(args['aggregate'], 'aggregate')) facts.deleteAggregate(uuid ?? '');
    }),
    update_instance_info: noted((args) => {
      facts.putInstances(host(args), readInstanceUuids(args['instance_info'], 'instance_info'), false);
    }),
    delete_instance_info: noted((args) => {
      facts.deleteInstance(host(args), text(args['instance_uuid'], 'instance_uuid'));
    }),
    sync_instance_info: noted((args) => {
      facts.putInstances(host(args), list(text)(args['instance_uuids'], 'instance_uuids'), true);
    }),
  };
}

function aggregateOf({
  id = 0,
  uuid,
  hosts = [],
  metadata = new Map<string, string>(),
}: AggregateObject): NovaAggregate[] {
  return uuid === undefined ? [] : [{ id, uuid, hosts: new Set(hosts), metadata }];
}
