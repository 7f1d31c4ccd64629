import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InstanceView } from '#libs/contracts/instance';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Environment } from '#libs/runtime/system';
import type { Context } from '../../context';
import type { Audit } from '../../embedded/audit';
import type { EmbeddedFleet, PoolSettings } from '../../embedded/fleet';
import { startLate } from '../../embedded/start-late';
import { bar, table } from '../../views/table';
import { requestFor } from '../workload';

/** A story of a fleet in this process, told in the terminal within a minute. */
export interface Scenario {
  readonly name: string;
  /** One sentence: its events. */
  readonly purpose: string;
  /** Its fleet, in addition to `SCENARIO_SETTINGS`. */
  readonly fleet: {
    readonly hosts: number;
    readonly shape: Resources;
    readonly settings?: Environment;
    /** True when its hosts have an agent each, which can be killed. */
    readonly hasOwnAgents?: boolean;
    /** True when its schedulers record their decisions (`Stage.recordFolder`). */
    readonly isRecorded?: boolean;
    /** Set when its hosts are nodes that agents share. */
    readonly pool?: PoolSettings;
  };
  play(stage: Stage): Promise<void>;
  /** The fleet's present picture, if hosts with VCPUs are not the subject. */
  readonly picture?: (stage: Stage) => Promise<string>;
}

export interface ScenarioOutcome {
  readonly scenario: string;
  readonly seconds: number;
  /** Unmet expectations, and differences between the store and the hosts. */
  readonly broken: readonly string[];
}

/** Short intervals, so that changes show at once. */
export const SCENARIO_SETTINGS: Environment = {
  BERTH_AGENT_REPORT_INTERVAL_MS: '500',
  BERTH_AGENT_REPORT_MIN_INTERVAL_MS: '100',
  BERTH_AGENT_LOOK_INTERVAL_MS: '200',
  BERTH_SCHEDULER_HOST_TIMEOUT_MS: '2000',
  BERTH_SCHEDULER_DISCREPANCY_GRACE_MS: '500',
  BERTH_CONDUCTOR_DUE_INTERVAL_MS: '200',
  BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '1000',
  BERTH_CONDUCTOR_AUDIT_GRACE_MS: '1000',
};
const BUILD_LATENCY_MS = 200;
/** Time limit of an expected event. */
const PATIENCE_MS = 20_000;
const POLL_MS = 50;

/** Plays a scenario on a fleet of its own; each ends with an audit. */
export async function playScenario(context: Context, scenario: Scenario): Promise<ScenarioOutcome> {
  const { clock, env } = context;
  const { settings, isRecorded = false, ...size } = scenario.fleet;
  const recordFolder = isRecorded ? mkdtempSync(join(tmpdir(), 'berth-record-')) : '';
  const record = { BERTH_SCHEDULER_RECORD_FOLDER: recordFolder };
  const around = { ...context, env: { ...SCENARIO_SETTINGS, ...settings, ...record, ...env } };
  const services = { schedulers: 2, conductors: 2, failureRate: 0, latencyMs: BUILD_LATENCY_MS };
  const fleet = await startLate(around, { ...services, ...size });
  const startedMs = clock.elapsed();
  const stage = new Stage(context, fleet, { startedMs, picture: scenario.picture ?? pictureOfHosts, recordFolder });
  try {
    await scenario.play(stage);
    const audit = await fleet.audit();
    await stage.show('at the end');
    const seconds = Number(((clock.elapsed() - startedMs) / 1_000).toFixed(1));
    return { scenario: scenario.name, seconds, broken: [...stage.broken, ...differences(audit)] };
  } finally {
    await fleet.close();
    if (isRecorded) rmSync(recordFolder, { recursive: true, force: true });
  }
}

function differences({ overAllocated, leaked }: Audit): string[] {
  return [
    ...(overAllocated > 0 ? [`${overAllocated} resource classes are above their capacity`] : []),
    ...(leaked > 0 ? [`${leaked} claims and running instances do not match`] : []),
  ];
}

/** The actions and the output of a scenario. */
export class Stage {
  readonly broken: string[] = [];

  constructor(
    readonly context: Context,
    readonly fleet: EmbeddedFleet,
    private readonly about: {
      readonly startedMs: number;
      readonly picture: (stage: Stage) => Promise<string>;
      readonly recordFolder: string;
    },
  ) {}

  /** The folder into which its schedulers record their decisions. */
  get recordFolder(): string {
    return this.about.recordFolder;
  }

  /** Prints a line of the story, with the time since its beginning. */
  tell(text: string): void {
    const { terminal, clock } = this.context;
    const seconds = ((clock.elapsed() - this.about.startedMs) / 1_000).toFixed(1).padStart(5);
    terminal.print(`${terminal.colours.dim(`${seconds} s`)}  ${text}`);
  }

  /** Builds instances and returns their uuids. */
  async build(count: number, resources: Resources, spec: Partial<RequestSpec> = {}): Promise<readonly string[]> {
    const request = requestFor('demo', resources, 'demo');
    const events = await this.fleet.client.buildAndWait(
      { ...request, spec: { ...request.spec, ...spec }, count },
      { timeoutMs: PATIENCE_MS },
    );
    return events.map(({ instanceUuid }) => instanceUuid);
  }

  /** Waits for the story's next event, and prints it; after the time limit the story is broken. */
  async until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    const { clock, interrupted, terminal } = this.context;
    const untilMs = clock.elapsed() + PATIENCE_MS;
    while (!(await isTrue())) {
      if (interrupted.aborted) throw new BerthError('aborted', 'interrupted', 'the demo was interrupted');
      if (clock.elapsed() > untilMs) {
        this.broken.push(`expected and not reached: ${what}`);
        return this.tell(terminal.colours.red(`did not come: ${what}`));
      }
      await sleep(clock, POLL_MS, interrupted);
    }
    this.tell(terminal.colours.green(what));
  }

  /** Breaks the story when a condition fails. */
  check(what: string, isTrue: boolean): void {
    if (isTrue) return;
    this.broken.push(`it does not hold: ${what}`);
    this.tell(this.context.terminal.colours.red(`does not hold: ${what}`));
  }

  async instances(): Promise<readonly InstanceView[]> {
    return this.fleet.client.instances();
  }

  /** Prints the present fleet. */
  async show(title: string): Promise<void> {
    const { terminal } = this.context;
    terminal.print(`\n${terminal.colours.bold(title)}\n${await this.about.picture(this)}\n`);
  }
}

/** The claimed and the running instances of each host. */
async function pictureOfHosts({ context: { terminal }, fleet }: Stage): Promise<string> {
  const hosts = await fleet.client.hosts();
  const rows = await Promise.all(
    hosts.map(async ({ host, up, enabled, resources }) => {
      const running = (await fleet.drivers.get(host)?.list()) ?? [];
      const { used = 0, inventory } = resources['VCPU'] ?? {};
      const state = up ? (enabled ? 'up' : 'disabled') : 'down';
      const claimed = bar(terminal, used, inventory?.total ?? 0, 16);
      return [host, state, claimed, terminal.glyphs.full.repeat(running.length)];
    }),
  );
  return table(terminal, ['HOST', 'STATE', 'VCPU CLAIMED', 'RUNS'], rows);
}
