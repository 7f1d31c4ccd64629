import { decisionCodec } from '#libs/contracts/diagnosis';
import { type Inventories, inventory } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import { RootColumns } from '#libs/placement/index/root-columns';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { decisionKeeper } from '#libs/placement/past-decisions/keep-decisions';
import type { Command } from '#libs/placement/port/placement-store';
import { KeptCandidates } from '#libs/placement/search/kept-candidates';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { type SelectCallDeps, selectDestinationsCall } from '../calls/select-destinations';
import { HardwareOverlay } from '../decision/hardware-overlay';
import { KnownHosts } from '../decision/known-hosts';
import { UsageOverlay } from '../decision/usage-overlay';
import { type FactKind, NovaFacts, type NovaNode } from '../facts/nova-facts';
import { NovaRecorder } from '../flight/recorder';
import { novaMetrics } from '../metrics';
import { novaOptions } from '../options';
import { selectSettings } from '../settings';
import { aNovaSpec, type SpecFields } from './nova-spec';

export const CELL = 'ce110000-0000-4000-8000-000000000001';
const AT_MS = 1_700_000_000_000;

/** A node of the world: h1 has provider `uuidOf(1)`. */
export interface NodeFields extends Partial<NovaNode> {
  readonly inventories?: Inventories;
  readonly traits?: readonly string[];
  readonly isUp?: boolean;
  readonly isDisabled?: boolean;
}

/** A Nova of some nodes and a store, and a scheduler on both. */
export async function aWorld(nodes: readonly NodeFields[], settings: Readonly<Record<string, string>> = {}) {
  const store = new MemoryPlacementStore();
  const clock = fakeClock();
  const around = { clock, random: seededRandom(1), log: silentLog, metrics: createMetrics({}) };
  const mirror = await Mirror.open(store, around);
  const facts = new NovaFacts(clock);
  const config = readConfig(novaOptions, settings);
  const refreshed: FactKind[] = [];
  const aids = { columns: new RootColumns(mirror), kept: new KeptCandidates(mirror) };
  const knownHosts = new KnownHosts(mirror, facts);
  const decisions = decisionKeeper(store, config.keptDecisions, around);
  const deps: SelectCallDeps = {
    ...around,
    placement: store,
    mirror,
    facts,
    aids,
    knownHosts,
    config,
    decisions,
    refresh: async (kind) => void refreshed.push(kind),
    inFlight: new UsageOverlay(),
    hardware: new HardwareOverlay(clock),
    settings: selectSettings(config),
    measured: novaMetrics(around.metrics, facts),
  };
  const commit = async (command: Omit<Extract<Command, { kind: string }>, 'atMs'> & Record<string, unknown>) => {
    const result = await store.commit({ ...command, atMs: AT_MS } as Command);
    if (result.kind !== 'committed') throw new Error(`${command.kind}: ${result.kind}`);
    mirror.apply(result.change);
  };
  for (const [i, node] of nodes.entries()) await addProvider(uuidOf(i + 1), `h${i + 1}`, undefined, node);
  facts.setNodes(nodes.map(aNode), clock.elapsed());
  facts.setServices(
    nodes.map(({ host, isUp = true, isDisabled = false }, i) => ({ host: host ?? `h${i + 1}`, isUp, isDisabled })),
    clock.elapsed(),
  );
  facts.setAggregates([], clock.elapsed());
  const call = selectDestinationsCall(deps);

  async function addProvider(uuid: string, name: string, parentUuid: string | undefined, node: NodeFields) {
    await commit({ kind: 'put_provider', uuid, name, parentUuid, mode: 'create' });
    const { inventories = USUAL, traits = [] } = node;
    for (const resourceClass of Object.keys(inventories)) await createName('resource_class', resourceClass);
    for (const trait of traits) await createName('trait', trait);
    await commit({ kind: 'write_inventories', providerUuid: uuid, generation: undefined, inventories, replace: true });
    if (traits.length > 0) await commit({ kind: 'write_traits', providerUuid: uuid, generation: undefined, traits });
  }

  async function createName(catalogue: string, name: string) {
    if (name.startsWith('CUSTOM_'))
      await store.commit({ kind: 'create_name', catalogue, name, atMs: AT_MS } as Command);
  }

  /** Answers, by instance. */
  async function select(
    fields: SpecFields = {},
    args: Readonly<Record<string, unknown>> = {},
    context: Readonly<Record<string, unknown>> = {},
  ) {
    const asked = { instance_uuids: [instance(1)], return_objects: true, return_alternates: true, ...args };
    const request = { method: 'select_destinations', version: '4.5', context, namespace: undefined };
    const all = { spec_obj: aNovaSpec(fields), ...asked };
    const outcome = await call(all, { ...request, args: all, uniqueId: undefined, replyTo: undefined });
    if (outcome.kind !== 'result') return outcome.topic;
    return outcome.value as readonly (readonly SelectionObject[])[];
  }

  return {
    store,
    mirror,
    facts,
    deps,
    call,
    commit,
    addProvider,
    refreshed,
    clock,
    select,
    /** Names of hosts, the selected one first, by instance. */
    async hosts(fields: SpecFields = {}, args: Readonly<Record<string, unknown>> = {}) {
      const selections = await select(fields, args);
      if (typeof selections === 'string') return selections;
      return selections.map((some) => some.map((one) => one['nova_object.data'].service_host));
    },
    /** The reason of the refusal. */
    async refusal(fields: SpecFields = {}, args: Readonly<Record<string, unknown>> = {}): Promise<string> {
      const selections = await select(fields, args).catch((thrown: unknown) => thrown as { reason: string });
      return 'reason' in (selections as object) ? (selections as { reason: string }).reason : 'none';
    },
    /** The kept decision for an instance. */
    async decision(uuid: string) {
      await decisions.flush();
      const kept = await store.decision(uuid);
      return kept && decisionCodec.decode(kept);
    },
    /** Records decisions from now on. */
    async record(folder: string) {
      const bounds = { maxBytes: 10_000_000, maxAgeMs: 600_000 };
      const recorder = await NovaRecorder.open({ ...deps, version: 'test', processId: 'nova', folder, bounds });
      Object.assign(deps, { recorder });
      await clock.advance(10);
      return recorder;
    },
    held: (uuid: string) => store.consumers([uuid]).then(([consumer]) => consumer),
    async close() {
      aids.columns.close();
      aids.kept.close();
      knownHosts.close();
      await mirror.close();
    },
  };
}

export interface SelectionObject {
  readonly 'nova_object.data': Readonly<Record<string, unknown>> & { readonly service_host: string };
}

const USUAL: Inventories = {
  VCPU: inventory(8, { allocationRatio: 4 }),
  MEMORY_MB: inventory(8_192),
  DISK_GB: inventory(100),
};

export function uuidOf(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

export function instance(n: number): string {
  return `11111111-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

function aNode(fields: NodeFields, i: number): NovaNode {
  const name = `h${i + 1}`;
  return {
    uuid: uuidOf(i + 1),
    nodename: fields.nodename ?? name,
    host: fields.host ?? name,
    cellUuid: fields.cellUuid ?? CELL,
    hypervisorType: 'QEMU',
    hypervisorVersion: fields.hypervisorVersion ?? 6_002_000,
    ioOps: 0,
    capabilities: fields.capabilities ?? {},
  };
}
