import { alternatesCodec } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { withinInWords } from '#libs/domain/grouping/within-in-words';
import type { Instance, InstanceState } from '#libs/domain/instance';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { ClaimRow, DecisionView, InstancePage } from '../api/instance';
import type { Live } from '../live/live';
import { doubtRow } from './doubt-row';
import { explainQuery, isImpossible, refusalsOf, verdictOf } from './explain';
import { heldBy } from './host-page';
import { specOf } from './spec-of';

/** Reads what the page of an instance shows. @throws BerthError `not_found / no_such_instance`. */
export async function readInstancePage(live: Live, uuid: string): Promise<InstancePage> {
  const { mirror, instances, client } = live.parts;
  const [[instance], decision] = await Promise.all([
    instances.get([uuid]),
    client.explainInstance(uuid).then(
      ({ decidedAtMs, revision, diagnosis, hosts, selected }): DecisionView => {
        const { hostsConsidered: considered, hostsPassed: passed } = diagnosis;
        return {
          decidedAtMs,
          revision,
          considered,
          passed,
          isImpossible: isImpossible(diagnosis),
          filters: refusalsOf(diagnosis),
          hosts: hosts.map(verdictOf),
          selected: selected[uuid] ?? '',
        };
      },
      // Forgotten, or no scheduler answers: the page omits it.
      () => undefined,
    ),
  ]);
  if (instance === undefined) throw new BerthError('not_found', 'no_such_instance', `there is no instance ${uuid}`);
  const spec = specOf(instance);
  const { name, requestId, projectId, userId, state, version, createdAtMs, updatedAtMs, fault, migration, waiting } =
    instance;
  return {
    uuid,
    name,
    requestId,
    projectId,
    userId,
    state,
    version,
    createdAtMs,
    updatedAtMs,
    fault,
    decision,
    host: instance.host ?? '',
    endsAtMs: instance.endsAtMs ?? 0,
    attempts: instance.attempts.map(({ endedAtMs = 0, ...attempt }) => ({ ...attempt, endedAtMs })),
    alternates:
      instance.alternates.length === 0 ? [] : alternatesCodec.decode(instance.alternates).map(({ host }) => host),
    flavor: spec.flavor?.name ?? '',
    explain: explainQuery(spec),
    resources: heldBy(mirror, instance),
    asked: wordsOf(spec),
    claims: claimsOf(mirror, instance),
    migration: migration && {
      kind: migration.kind,
      phase: migration.phase,
      sourceHost: migration.source.host,
      destHost: migration.destination.host,
    },
    waiting: waiting && {
      sinceMs: waiting.sinceMs,
      untilMs: waiting.untilMs,
      waitsFor: waiting.waitsFor,
      ...(await turnOf(live, uuid)),
    },
    gang: instance.gang,
    doubts: live.doubts.filter((doubt) => doubt.instanceUuid === uuid).map(doubtRow),
    actions: ACTIONS[state] ?? ['terminate'],
  };
}

/** Its place in the conductors' queue, and the number that it stands by; 0 when no conductor answers. */
async function turnOf({ parts: { client } }: Live, uuid: string) {
  const found = await client.instance(uuid).catch(() => undefined);
  return { place: found?.waiting?.place ?? 0, standing: found?.waiting?.standing };
}

/** Operators' actions by state; the conductor has the last word. */
const ACTIONS: Partial<Readonly<Record<InstanceState, readonly string[]>>> = {
  active: ['stop', 'live_migrate', 'migrate', 'resize', 'shelve', 'terminate'],
  stopped: ['start', 'migrate', 'resize', 'shelve', 'terminate'],
  shelved_offloaded: ['unshelve', 'terminate'],
  verify_resize: ['confirm', 'revert', 'terminate'],
  resize: ['revert', 'terminate'],
  unknown: ['evacuate', 'terminate'],
  deleting: [],
  deleted: [],
};

function claimsOf(view: PlacementView, { uuid, migration }: Instance): ClaimRow[] {
  const rowsOf = (consumer: ClaimRow['consumer'], itsUuid: string | undefined): ClaimRow[] => {
    const held = itsUuid === undefined ? undefined : view.consumer(itsUuid);
    return Object.entries(held?.allocations ?? {}).map(([providerUuid, resources]) => {
      const provider = view.provider(providerUuid);
      const host = provider === undefined ? '' : (view.hostOfRoot(provider.rootUuid)?.name ?? '');
      return { consumer, provider: provider?.name ?? providerUuid, host, resources };
    });
  };
  return [...rowsOf('instance', uuid), ...rowsOf('migration', migration?.uuid)];
}

/** A request's requirements besides amounts, in words. */
function wordsOf(spec: RequestSpec): [string, string][] {
  const anyOf = (lists: readonly (readonly string[])[]) => lists.map((list) => list.join(' or ')).join(', ');
  const facts: [string, string][] = [
    ['zone', spec.availabilityZone ?? ''],
    ['required traits', spec.requiredTraits.join(', ')],
    ['forbidden traits', spec.forbiddenTraits.join(', ')],
    ['preferred traits', spec.preferredTraits.join(', ')],
    ['preferred amounts', pairs(spec.preferredResources)],
    ['aggregates', anyOf(spec.memberOf)],
    ['server group', spec.group?.id ?? ''],
    ['together', spec.group?.within ? withinInWords(spec.group.within) : ''],
    ['forced to', spec.forceHosts.join(', ')],
    ['extra specs', pairs(spec.extraSpecs)],
    ['image properties', pairs(spec.imageProperties)],
    ['when its host is dead', spec.rebuildPolicy === 'never' ? '' : spec.rebuildPolicy],
  ];
  return facts.filter(([, value]) => value !== '');
}

function pairs(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}
