import type { Bus } from '#libs/bus/port';
import { answer } from '#libs/bus/typed-calls';
import type { CellLink } from '#libs/cells/cell-link';
import type { CellStore } from '#libs/cells/cell-store';
import { listCellsMethod, setCellStateMethod } from '#libs/contracts/cell-methods';
import { explainMethod } from '#libs/contracts/diagnosis';
import { requireProject } from '#libs/contracts/identity';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type SelectDestinationsRequest, selectDestinationsMethod } from '#libs/contracts/selection';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type ResolvedSpec, resolveSpec } from '#libs/domain/extra-specs/resolve';
import { groupKey, storedGroupKey } from '#libs/domain/server-group';
import { quotaCalls } from '#libs/fleet-settings/quota-calls';
import { groupCalls } from '#libs/fleet-settings/serve-groups';
import { keepProjectsSettled } from '#libs/fleet-settings/settle-projects';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { counted } from '#libs/runtime/counted';
import type { Running, RuntimeDeps } from '#libs/runtime/service';
import type { SelectCellDeps } from './ask-cell';
import { explainCells } from './explain-cells';
import { hearSummaries } from './hear-summaries';
import { KnownCell } from './known-cell';
import { topSchedulerMetrics } from './metrics';
import type { TopSchedulerConfig } from './options';
import { selectCell } from './select-cell';
import { usageOfCells } from './usage-of-cells';
import { ZoneMembers } from './zone-members';

export interface TopSchedulerDeps extends RuntimeDeps {
  /** The top's bus. */
  readonly bus: Bus;
  readonly cells: CellStore;
  /** The top's own store, for quotas and their counts. */
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  readonly links: readonly CellLink[];
  readonly config: TopSchedulerConfig;
}

/**
 * Starts a scheduler of the top: it answers `SelectDestinations` by choosing a cell and asking its schedulers. Its only
 * state is summaries, which it asks the cells for, so any number may run, and a cell need not know of the top.
 */
export async function startTopScheduler(deps: TopSchedulerDeps): Promise<Running> {
  const { bus, clock, config, log } = deps;
  const cells = new Map(deps.links.map((link) => [link.cell, new KnownCell(link, clock)]));
  const measured = topSchedulerMetrics(deps.metrics, cells);
  const onAsked: SelectCellDeps['onAsked'] = (outcome) => measured.asked.inc({ outcome });
  const onKept: SelectCellDeps['onKept'] = (of_cell, err) =>
    log.warn(
      { event: 'claims_not_given_back', err, of_cell },
      'claims not released: the audit of their cell releases them',
    );
  const cellOfGroup: SelectCellDeps['cellOfGroup'] = (projectId, name) => cellOfMembers(deps.mirror, projectId, name);
  const zoneMembers = new ZoneMembers(deps.mirror, clock);
  const selecting: SelectCellDeps = { cells, random: deps.random, config, cellOfGroup, zoneMembers, onAsked, onKept };
  const closing = new AbortController();

  const requireCell = (name: string): KnownCell => {
    const cell = cells.get(name);
    if (cell) return cell;
    throw new BerthError('not_found', 'no_such_cell', `there is no cell '${name}'`, { details: { cell: name } });
  };

  const requireReady = () => {
    const readiness = deps.mirror.readiness();
    if (!readiness.ready) throw new BerthError('unavailable', 'mirror_not_ready', readiness.reason);
  };

  const calls = await bus.serve(
    RPC_SCHEDULER,
    {
      ...answer(selectDestinationsMethod, (request) => select(request, { deps, selecting, measured, closing })),
      ...answer(explainMethod, async ({ requestSpec }, { identity }) => {
        const spec = resolveSpec(requestSpecCodec.decode(requestSpec), 'request_spec');
        requireProject(identity, spec.projectId);
        return explainCells(await withRules(spec, deps, closing.signal), selecting);
      }),
      ...answer(listCellsMethod, async ({ cell }) => {
        const asked = cell === '' ? [...cells.values()] : [requireCell(cell)];
        return { cells: asked.map((one) => one.view()) };
      }),
      ...answer(setCellStateMethod, async ({ cell: name, state, reason }) => {
        const cell = requireCell(name);
        const record = { name, state, reason, changedAtMs: clock.now() };
        await deps.cells.putCell(record);
        cell.record = record;
        return { cell: cell.view() };
      }),
      ...quotaCalls(deps, requireReady, (asked) => usageOfCells(asked, selecting)),
      ...groupCalls({ ...deps, catchUp: () => catchUp(deps, closing.signal) }),
    },
    { prefetch: config.prefetch },
  );

  const loops = [
    keepProjectsSettled(deps, closing.signal),
    readStates(cells, deps, closing.signal),
    ...[...cells.values()].map((cell) => hearSummaries(cell, deps, closing.signal)),
  ];

  return {
    readiness() {
      const ofBus = bus.readiness();
      if (!ofBus.ready) return ofBus;
      const known = [...cells.values()].filter(
        ({ unreachable, summary }) => summary !== undefined || unreachable !== '',
      );
      if (known.length === cells.size) return { ready: true };
      return { ready: false, reason: `${known.length} of ${counted(cells.size, 'cell')} asked` };
    },
    async close() {
      closing.abort();
      await Promise.all([calls.cancel(), ...loops]);
    },
  };
}

interface Selecting {
  readonly deps: TopSchedulerDeps;
  readonly selecting: SelectCellDeps;
  readonly measured: ReturnType<typeof topSchedulerMetrics>;
  readonly closing: AbortController;
}

/** Chooses a cell, once the mirror has what the request rests on. */
async function select(request: SelectDestinationsRequest, { deps, selecting, measured, closing }: Selecting) {
  const { clock, log, mirror } = deps;
  const startedAtMs = clock.elapsed();
  let outcome = 'error';
  try {
    const spec = resolveSpec(requestSpecCodec.decode(request.requestSpec), 'request_spec');
    const { minRevision = 0 } = request;
    await mirror.waitFor(minRevision, { timeoutMs: CATCH_UP_MS, signal: closing.signal });
    const response = await selectCell(spec, request, selecting);
    outcome = response.destinations.length > 0 ? 'selected' : 'no_valid_host';
    const subject = {
      request_id: request.requestId,
      instances: request.instanceUuids.length,
      to_cell: response.cell,
    };
    if (response.noValidHost && outcome === 'no_valid_host')
      log.info({ event: 'no_cell', ...subject }, `no cell: ${response.noValidHost.summary}`);
    else log.debug({ event: 'cell_selected', ...subject }, 'cell selected');
    return response;
  } finally {
    measured.selectSeconds.observe({ outcome }, (clock.elapsed() - startedAtMs) / 1_000);
  }
}

/** Reads again and again which cells operators have drained or disabled. */
async function readStates(
  known: ReadonlyMap<string, KnownCell>,
  { cells, clock, config, log }: TopSchedulerDeps,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await cells.listCells().then(
      (records) => {
        for (const record of records) {
          const cell = known.get(record.name);
          if (cell && record.changedAtMs >= cell.record.changedAtMs) cell.record = record;
        }
      },
      (err: unknown) => log.warn({ event: 'cell_states_not_read', err }, 'using the last known states of the cells'),
    );
    await sleep(clock, config.summaryIntervalMs, signal);
  }
}

const CATCH_UP_MS = 5_000;

async function catchUp({ mirror, placement }: TopSchedulerDeps, signal: AbortSignal): Promise<void> {
  await mirror.waitFor(await placement.revision(), { timeoutMs: CATCH_UP_MS, signal });
}

/** In the top's store a cell takes the place of a host: members of a group are on it. */
function cellOfMembers(mirror: Mirror, projectId: string, name: string): string | undefined {
  for (const uuid of mirror.groupMembers(groupKey(projectId, name))) {
    const cell = mirror.consumer(uuid)?.groupHost;
    if (cell !== undefined) return cell;
  }
  return undefined;
}

/**
 * Fills the rules of a fleet's group into a spec that names it by name alone. @throws BerthError `not_found /
 * no_such_group`.
 */
async function withRules(spec: ResolvedSpec, deps: TopSchedulerDeps, signal: AbortSignal): Promise<ResolvedSpec> {
  const { group, projectId } = spec;
  if (group === undefined || group.policy !== undefined) return spec;
  const key = storedGroupKey(projectId, group.id);
  if (!deps.mirror.serverGroup(key)) await catchUp(deps, signal);
  const stored = deps.mirror.serverGroup(key);
  if (!stored) throw new BerthError('not_found', 'no_such_group', `there is no group '${group.id}'`);
  const { policy, maxPerHost, spread } = stored;
  return { ...spec, group: { id: group.id, policy, maxPerHost, spread } };
}
