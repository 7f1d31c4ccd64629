import type { Random } from '#libs/domain/random';
import { type RecordedService, RowRecorder, type RowRecorderDeps } from '#libs/flight-record/row-recorder';
import { withoutSecrets } from '#libs/runtime/config';
import { berthVersion } from '#libs/runtime/manifest';
import type { InstanceClaim } from '../decision/claim';
import type { HardwareOverlay } from '../decision/hardware-overlay';
import type { Attempt, NovaDecisionRecorder } from '../decision/select-destinations';
import { type NovaFacts, RECORDED_KINDS, type RecordedKind } from '../facts/nova-facts';
import type { WantedHardware } from '../hardware/wanted-hardware';
import { type NovaConfig, novaOptions } from '../options';
import { type FactRows, NOVA_FORMAT, type NovaClaimEntry, type NovaFlightEntry, type NovaReadyEntry } from './entries';
import { novaOutcomeOf } from './outcome-of';

export interface NovaRecorderDeps extends RowRecorderDeps {
  readonly facts: NovaFacts;
  readonly hardware: HardwareOverlay;
  readonly version: string;
  readonly config: NovaConfig;
}

/**
 * The flight recorder of a scheduler for Nova. Its decisions are functions of the rows of its mirror, of facts, of claims on their way, of
 * settings and a seed: a segment begins with all of these, and then comes what changes. Whole answers of Nova replace all rows of a kind
 * again and again; only those that differ are written.
 */
export class NovaRecorder implements NovaDecisionRecorder, RecordedService {
  readonly #rows: RowRecorder;
  /** Fingerprints of rows as they were written. */
  readonly #written = new Map<RecordedKind, Map<string, unknown>>();

  /** Claims on their way, by number. */
  readonly #claims = new Map<number, NovaClaimEntry>();
  #lastClaimId = 0;

  private constructor(private readonly deps: NovaRecorderDeps) {
    this.#rows = new RowRecorder(deps, this);
  }

  /** Begins to record. @throws BerthError `invalid_argument / unwritable_folder` */
  static async open(deps: NovaRecorderDeps): Promise<NovaRecorder> {
    const recorder = new NovaRecorder(deps);
    deps.facts.onChange((of, keys) => recorder.#noteFacts(of, keys));
    await recorder.#rows.start();
    return recorder;
  }

  async close(): Promise<void> {
    this.deps.facts.onChange(undefined);
    await this.#rows.close();
  }

  begin(startedAtMs: number, revision: number): NovaFlightEntry {
    const { version, config } = this.deps;
    return { kind: 'nova_segment', format: NOVA_FORMAT, version, config, startedAtMs, revision };
  }

  ready(): NovaReadyEntry {
    const { facts, hardware } = this.deps;
    const all = RECORDED_KINDS.map((of) => {
      const rows = facts.rowsOf(of);
      this.#written.set(of, new Map([...rows].map(([key, row]) => [key, fingerprint(row)])));
      return [of, [...rows]] as const;
    });
    return {
      kind: 'nova_ready',
      facts: Object.fromEntries(all) as unknown as Readonly<Record<RecordedKind, FactRows>>,
      claims: [...this.#claims.values()],
      hardware: hardware.taken(),
    };
  }

  decided(attempt: Attempt, seed: number, result: Parameters<NovaDecisionRecorder['decided']>[2]): void {
    if (this.#rows.current === undefined) return;
    const { mirror, clock } = this.deps;
    const { request, instanceUuids, places, requestId, withAlternates, isDryRun = false, refusedRoots } = attempt;
    const { spec, userId } = request;
    this.#rows.appendDecision({
      kind: 'nova_decide',
      revision: mirror.revision,
      attempt: {
        nowMs: clock.now(),
        elapsedMs: clock.elapsed(),
        seed,
        places,
        namesInstances: instanceUuids !== undefined,
        withAlternates,
        isDryRun,
        refusedRoots: [...refusedRoots],
      },
      request: { requestId: requestId ?? instanceUuids?.[0] ?? '', instanceUuids: instanceUuids ?? [], userId, spec },
      outcome: novaOutcomeOf(result),
    } satisfies NovaFlightEntry);
  }

  hold(claims: readonly InstanceClaim[], wanted: WantedHardware): number {
    const hosts = claims.map(({ candidate: { rootUuid, allocations } }) => ({ rootUuid, allocations }));
    const hardware = wanted.topology === undefined && wanted.pciRequests.length === 0 ? undefined : wanted;
    const id = ++this.#lastClaimId;
    const entry = { kind: 'nova_claim', id, atElapsedMs: this.deps.clock.elapsed(), hosts, hardware } as const;
    this.#claims.set(id, entry);
    this.#append(entry);
    return id;
  }

  settle(id: number, isClaimed: boolean): void {
    this.#claims.delete(id);
    this.#append({ kind: 'nova_settle', id, isClaimed });
  }

  /** @param keys  of the rows that changed; undefined for all */
  #noteFacts(of: RecordedKind, keys: readonly string[] | undefined): void {
    const written = this.#written.get(of);
    if (written === undefined) return;
    const rows = this.deps.facts.rowsOf(of);
    const put: [string, unknown][] = [];
    for (const key of keys ?? rows.keys()) {
      const row = rows.get(key);
      const mark = row === undefined ? undefined : fingerprint(row);
      if (mark === undefined || mark === written.get(key)) continue;
      written.set(key, mark);
      put.push([key, row]);
    }
    const gone = [...(keys ?? written.keys())].filter((key) => !rows.has(key) && written.delete(key));
    if (put.length + gone.length > 0) this.#append({ kind: 'nova_facts', of, put, gone });
  }

  #append(entry: NovaFlightEntry): void {
    this.#rows.append(entry);
  }
}

/** Rows of databases, which are objects of Maps and Sets, are the same object as long as they do not change. */
function fingerprint(row: unknown): unknown {
  if (row instanceof Map || (typeof row === 'object' && row !== null && 'pools' in row)) return row;
  return JSON.stringify(row, (_, value: unknown) =>
    value instanceof Set || value instanceof Map ? [...(value as Iterable<unknown>)] : value,
  );
}

/** Starts the recorder that the settings ask for. @throws BerthError `invalid_argument / unwritable_folder` */
export function recordNovaInto(
  config: NovaConfig,
  deps: Pick<NovaRecorderDeps, 'mirror' | 'facts' | 'hardware' | 'clock' | 'log'> & {
    readonly random: Random;
  },
): Promise<NovaRecorder> {
  const { recordFolder: folder, recordMaxMb, recordMaxAgeMs: maxAgeMs } = config;
  const bounds = { maxBytes: recordMaxMb * 1_000_000, maxAgeMs };
  const processId = deps.random.uuid().slice(0, 8);
  return NovaRecorder.open({
    ...deps,
    version: berthVersion(),
    config: recorded(config),
    processId,
    folder,
    bounds,
  });
}

function recorded(config: NovaConfig): NovaConfig {
  // A decision depends on a database being read, not on its address.
  const databaseUrl = config.databaseUrl === '' ? '' : 'mysql://recorded/nova_api';
  return { ...withoutSecrets(novaOptions, config), recordFolder: '', databaseUrl };
}
