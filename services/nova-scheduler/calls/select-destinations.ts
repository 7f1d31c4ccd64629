import { BerthError } from '#libs/domain/errors';
import { isDerivedUuid, isUuid } from '#libs/domain/names';
import type { RpcMethod, RpcOutcome } from '#libs/oslo/dispatch';
import { RemoteError } from '#libs/oslo/remote-error';
import type { DecisionKeeper } from '#libs/placement/past-decisions/keep-decisions';
import type { RuntimeDeps } from '#libs/runtime/service';
import { type Asked, type SelectDeps, type Selected, selectDestinations } from '../decision/select-destinations';
import type { FactKind, NovaFacts } from '../facts/nova-facts';
import type { novaMetrics } from '../metrics';
import { writeLegacySelection, writeSelection } from '../objects/selection';
import { readRequestSpec } from '../objects/tables';
import { flag, list, malformed, type Read, text } from '../objects/versioned-object';
import type { NovaConfig } from '../options';
import { databaseNeeds } from '../request/database-needs';
import { NoHost } from '../request/no-host';
import { type NovaRequest, novaRequest } from '../request/nova-request';
import { beyondReach } from './beyond-reach';
import { recordOf, requestUuidOf } from './record-decision';

export interface SelectCallDeps extends SelectDeps, Pick<RuntimeDeps, 'log'> {
  readonly config: NovaConfig;
  readonly measured: ReturnType<typeof novaMetrics>;
  readonly decisions: Pick<DecisionKeeper, 'hasRoom' | 'keep'>;
}

/** `select_destinations` of Nova's scheduler, versions 4.3 to 4.5. */
export function selectDestinationsCall(deps: SelectCallDeps): RpcMethod {
  return async (args, { context }) => {
    const { log, clock, measured, decisions } = deps;
    const startedAtMs = clock.elapsed();
    const requestId = context['request_id'];
    const end = (outcome: string) =>
      measured.selectSeconds.observe({ outcome }, (clock.elapsed() - startedAtMs) / 1_000);
    let call: ReturnType<typeof readArguments> | undefined;
    try {
      call = readArguments(args, context['user_id'], deps.config.maxInstances);
      const elsewhere = await handOver(call.request, deps, requestId);
      if (elsewhere !== undefined) {
        end('handed_over');
        return elsewhere;
      }
      const isObserved = decisions.hasRoom();
      const selected = await selectDestinations({ ...call, requestId: requestUuidOf(requestId), isObserved }, deps);
      measured.conflicts.inc(selected.conflicts);
      end('selected');
      if (isObserved) record(call, selected, requestId, deps);
      const hosts = selected.selections.map(([chosen]) => chosen?.serviceHost);
      log.info(
        { event: 'nova_selected', requestId, instanceUuids: call.instanceUuids, hosts },
        'hosts selected for Nova',
      );
      const value = call.returnsObjects
        ? selected.selections.map((some) => some.map(writeSelection))
        : selected.selections.flatMap(([chosen]) => (chosen === undefined ? [] : writeLegacySelection(chosen)));
      return { kind: 'result', value };
    } catch (thrown) {
      const error = remoteErrorOf(thrown, deps);
      end(error instanceof NoHost ? 'no_valid_host' : 'failed');
      if (error instanceof NoHost) {
        if (call !== undefined) record(call, error, requestId, deps);
        log.info({ event: 'nova_no_valid_host', requestId, reason: error.reason }, error.message);
      }
      throw error;
    }
  };
}

function record(call: Asked, outcome: Selected | NoHost, requestId: unknown, deps: SelectCallDeps): void {
  const { clock, facts, mirror, decisions } = deps;
  const around = { requestId, decidedAtMs: clock.now(), hostCount: facts.nodeCount, revision: mirror.revision };
  const past = recordOf(call, outcome, around);
  if (past !== undefined) decisions.keep(past);
}

/** The request of a call. @throws RemoteError */
export function readArguments(args: Readonly<Record<string, unknown>>, userId: unknown, maxInstances: number) {
  if (args['spec_obj'] === undefined || args['spec_obj'] === null)
    throw malformed(
      'select_destinations',
      'without spec_obj is of a scheduler API before 4.3, which Nova 26 does not speak',
    );
  const request = novaRequest(readRequestSpec(args['spec_obj'], 'spec_obj'), typeof userId === 'string' ? userId : '');
  const uuids = args['instance_uuids'] ?? undefined;
  const instanceUuids = uuids === undefined ? undefined : [...new Set(list(consumerUuid)(uuids, 'instance_uuids'))];
  const count = instanceUuids?.length ?? request.spec.num_instances ?? 1;
  if (count > maxInstances) throw malformed('instance_uuids', `has ${count} entries, at most ${maxInstances}`);
  const returnsObjects = flag(args['return_objects'] ?? false, 'return_objects');
  const withAlternates = returnsObjects && flag(args['return_alternates'] ?? false, 'return_alternates');
  return { request, instanceUuids, returnsObjects, withAlternates };
}

/** A uuid that Nova may name a consumer by. */
const consumerUuid: Read<string> = (value, path) => {
  const uuid = text(value, path).toLowerCase();
  if (!isUuid(uuid)) throw malformed(path, 'is not a UUID');
  if (isDerivedUuid(uuid))
    throw malformed(path, 'is a UUID that RFC 9562 does not define, which Berth keeps for itself');
  return uuid;
};

/** Requests that need Nova's database while it is not read: to a stock scheduler, or refused. Undefined for all others. */
async function handOver(
  request: NovaRequest,
  deps: SelectCallDeps,
  requestId: unknown,
): Promise<RpcOutcome | undefined> {
  const { config, log, measured } = deps;
  for (const filter of databaseNeeds(request).filter((name) => !config.filters.includes(name))) {
    const fields = { event: 'nova_not_filtered', requestId, filter };
    log.info(fields, `the request would need ${filter}, which is not among the filters: the host itself decides`);
  }
  const filter = await beyondReach(request, deps);
  if (filter === undefined) return undefined;
  const { fallbackTopic: topic } = config;
  if (topic === '')
    throw new NoHost(
      `The request needs ${filter}, for which Nova's database is not read (BERTH_NOVA_DATABASE_URL), and BERTH_NOVA_FALLBACK_TOPIC names no other scheduler.`,
    );
  measured.handedOver.inc({ filter });
  log.info({ event: 'nova_handed_over', requestId, filter, topic }, 'handed a call over');
  return { kind: 'hand_over', topic };
}

function remoteErrorOf(thrown: unknown, { facts, config }: SelectCallDeps): RemoteError {
  if (thrown instanceof NoHost) return new NoHost(thrown.reason + staleness(facts, config.factsMaxAgeMs), thrown.basis);
  if (thrown instanceof RemoteError) return thrown;
  const error = BerthError.from(thrown);
  if (error.code === 'unavailable') {
    return new RemoteError('PlacementAPIConnectFailure', 'nova.exception', error.message, { code: 500 });
  }
  return new RemoteError('NovaException', 'nova.exception', `${error.message} (${error.reason})`, { code: 500 });
}

/** Sentences for the fault when facts are old. */
function staleness(facts: NovaFacts, maxAgeMs: number): string {
  const old = (kinds: readonly FactKind[]) =>
    kinds.flatMap((kind) => {
      const ageMs = facts.ageMs(kind) ?? 0;
      return ageMs > maxAgeMs ? `${kind} were read ${Math.round(ageMs / 1_000)} s ago` : [];
    });
  const [ofApi, ofDatabase] = [old(['services', 'nodes']), old(['cells', 'hardware'])];
  const sentence = (of: string, what: readonly string[]) =>
    what.length === 0 ? '' : ` ${of} is away: ${what.join(', ')}.`;
  return sentence("Nova's API", ofApi) + sentence("Nova's database", ofDatabase);
}
