import { MemoryBus } from '#libs/bus/memory/memory-bus';
import type { CastOptions } from '#libs/bus/port';
import * as identity from '#libs/contracts/identity';
import * as messageRules from '#libs/contracts/message-rules';
import * as owning from '#libs/contracts/own-instances';
import * as consumers from '#libs/domain/consumer';
import { attemptNumber } from '#libs/domain/instance';
import * as names from '#libs/domain/names';
import * as serverGroup from '#libs/domain/server-group';
import * as allocations from '#libs/placement/commands/allocations';
import type { ClaimView } from '#libs/placement/commands/claims/view';
import * as evidence from '../../../services/conductor/evidence';
import * as claims from '../../../services/conductor/steps/claims';
import * as explaining from '../../../services/scheduler/decision/explain/shown-to';
import * as locating from '../../../services/scheduler/fleet/located-request';
import * as poolRights from '../../../services/scheduler/nodes/pool-rights';
import * as grants from '../../../services/scheduler/nodes/report-grants';
import { type Mutant, mutant, mutants, withFocus } from './mutant';

export const IDENTITY_MUTANTS: readonly Mutant[] = [
  mutant(
    'anybody-terminates',
    'whose instance may be terminated by whom',
    identity,
    'speaksForProject',
    () => () => true,
  ),
  mutants(
    'anybody-orders',
    'who may order an agent',
    mutant('', '', identity, 'speaksForServiceHost', () => () => true),
    mutant('', '', messageRules, 'refusalOfMessage', () => () => undefined),
  ),
  mutant('anybody-reports', 'which host may report for which', identity, 'requireHost', () => () => {}),
  withFocus(
    mutant(
      'anybody-answers',
      'which host may answer what which is asked',
      poolRights,
      'requireHolder',
      () => async () => {},
    ),
    'answer for another host',
    'build that waits',
  ),
  withFocus(
    mutants(
      'hosts-not-told-apart',
      'on which host an attempt is that an agent reports of',
      mutant(
        '',
        '',
        evidence,
        'isOfPresentAttempt',
        () =>
          (record, { attempt }) =>
            attemptNumber(record) === attempt,
      ),
      mutant('', '', evidence, 'isOfPresentBuild', (original) => (record, build) => {
        return original(record, { ...build, host: record.host ?? '' });
      }),
      mutant('', '', evidence, 'isOfPresentPlace', (original) => (record, { attempt }) => {
        return original(record, { host: record.host ?? '', attempt });
      }),
    ),
    "answer for others' instances",
  ),
  withFocus(
    mutant('no-host-is-free', 'whose a provider is that is no host’s', grants, 'mayTake', () => () => true),
    'providers of others reported',
  ),
  withFocus(
    mutant('anybody-shares', 'who may share what he reports', grants, 'requireSharingGranted', () => () => {}),
    'providers of others reported',
  ),
  mutant(
    'put-back-as-service',
    'whose word a message is that was put back',
    MemoryBus.prototype,
    'cast',
    (original) => {
      return function cast(this: MemoryBus, address, message, options = {}) {
        const { onBehalfOf: _sender, ...rest }: CastOptions = options;
        return original.call(this, address, message, rest);
      };
    },
  ),
  mutant(
    'groups-of-all-projects',
    'whose group it is',
    serverGroup,
    'groupKey',
    () => (_projectId, groupId) => groupId,
  ),
  withFocus(
    mutants(
      'derived-uuids-are-chosen',
      'the uuids that no client may choose, and of what kind and project a consumer is',
      mutant('', '', names, 'isDefinedUuid', () => () => true),
      mutant('', '', consumers, 'isClaimOf', () => (_whose, consumer): consumer is consumers.Consumer => {
        return consumer?.owner === 'conductor';
      }),
      mutant('', '', allocations, 'decideAllocations', (original) => (state, writes, terms) => {
        const byUuid = new Map(writes.map((write) => [write.uuid, write]));
        const asNamed = (consumer: consumers.Consumer) => {
          const { projectId = consumer.projectId, consumerType } = byUuid.get(consumer.uuid) ?? {};
          return { ...consumer, projectId, consumerType };
        };
        return original(withConsumers(state, asNamed), writes, terms);
      }),
    ),
    'build under a derived uuid',
  ),
  withFocus(
    mutant('others-are-shown', 'what a tenant is shown of whose place it would take', explaining, 'shownTo', () => {
      return (_asker, answer) => answer;
    }),
    "ask for what is others'",
  ),
  withFocus(
    mutant('all-are-listed', 'whose instances a tenant may list', owning, 'ownFilter', (original) => {
      return (request) => original(request, identity.SERVICE);
    }),
    "ask for what is others'",
  ),
  withFocus(
    mutant(
      'others-are-located',
      'whose instances a request may be with or away from',
      locating,
      'locate',
      (original) => {
        return (spec, uuids, among, ...rest) => {
          const { view } = among.fleet;
          const consumer = view.consumer.bind(view);
          const asOwn = (uuid: string) => {
            const found = consumer(uuid);
            return found && { ...found, projectId: spec.projectId };
          };
          Object.assign(view, { consumer: asOwn });
          try {
            return original(spec, uuids, among, ...rest);
          } finally {
            Object.assign(view, { consumer });
          }
        };
      },
    ),
    "ask for what is others'",
  ),
  mutants(
    'owners-not-looked-at',
    'whose consumer it is',
    mutant('', '', allocations, 'decideAllocations', (original) => (state, writes, terms) => {
      const owners = new Map(writes.map(({ uuid, owner }) => [uuid, owner]));
      const asOwn = (consumer: consumers.Consumer) => ({
        ...consumer,
        owner: owners.get(consumer.uuid) ?? consumer.owner,
      });
      return original(withConsumers(state, asOwn), writes, terms);
    }),
    mutant('', '', claims, 'readClaim', () => async (c, uuid) => {
      const [consumer] = await c.placement.consumers([uuid]);
      return consumer ? { kind: 'claim', claimToken: consumer.claimToken, isOnHost: true } : { kind: 'none' };
    }),
  ),
];

/** Rows with other consumers than there are. */
function withConsumers(view: ClaimView, change: (consumer: consumers.Consumer) => consumers.Consumer): ClaimView {
  return {
    count: (name, group) => view.count(name, group),
    get(table, key) {
      const seen = view.get(table, key);
      return seen && table === 'consumer'
        ? { ...seen, row: change(seen.row as consumers.Consumer) as typeof seen.row }
        : seen;
    },
  };
}
