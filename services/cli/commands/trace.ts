import { Command, type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import type { Client } from '#libs/client/client';
import { EXIT } from '#libs/runtime/exit-codes';
import { percentile } from '#libs/runtime/percentiles';
import { clientSettings } from '../client/client-options';
import { withClient } from '../client/with-client';
import type { Context } from '../context';
import type { Audit } from '../embedded/audit';
import { startEmbedded } from '../embedded/fleet';
import { addHelp } from '../help-text';
import { addSettingFlags, readSettings } from '../settings';
import { readTrace } from '../trace/read-trace';
import { type ReplayOutcome, replayTrace } from '../trace/replay';
import { type CoresAndRam, peakDemand, type TraceEvent, timelineOf, utilisationOf } from '../trace/timeline';
import { countBy, formatNumber } from '../views/format';
import { bar, table } from '../views/table';
import { wholeFrom } from './number-flags';

/** Default fleet size relative to the trace's peak: VMs do not fill hosts without gaps. */
const HEADROOM = 1.1;

/** `berth trace replay FILE` */
export function traceCommand(context: Context): CommandUnknownOpts {
  return new Command('trace').description('Work with traces of VM requests.').addCommand(replayCommand(context));
}

function replayCommand(context: Context): CommandUnknownOpts {
  const command = new Command('replay')
    .description(
      'Build and terminate the VMs of a trace, in its order. On fake hosts in this process, or on the services that BERTH_BUS_URL names.',
    )
    .argument('<file>', '.csv or .csv.gz with vmId, tenantId, cores, ram, starttime, endtime (in days)')
    .option('--hosts <n>', "fake hosts; enough for the trace's peak when not given", wholeFrom(1))
    .option('--shape <cores/ram>', "what each fake host has, in the trace's units", coresAndRam, {
      cores: 9600,
      ram: 2250,
    })
    .option('--speed <n>', 'seconds of the trace in one second; 0 goes as fast as possible', wholeFrom(0), 0)
    .option('--limit <n>', 'only the first so many VMs', wholeFrom(1), Number.POSITIVE_INFINITY)
    .option('--in-flight <n>', 'concurrent requests', wholeFrom(1), 128)
    .option('--schedulers <n>', 'schedulers in this process', wholeFrom(1), 2)
    .option('--conductors <n>', 'conductors in this process', wholeFrom(1), 2)
    .option('--json', 'print the outcome as one JSON value', false);
  addSettingFlags(command, clientSettings).action(async (file, flags) => {
    const { vms, scale } = await readTrace(file, flags.limit);
    const events = timelineOf(vms);
    const run = async (client: Client, audit?: () => Promise<Audit>) => {
      const outcome = await replayTrace(context, client, events, flags);
      const figures = figuresOf(events, outcome, await audit?.());
      if (flags.json) context.terminal.json(figures);
      else show(context, figures);
      if (figures.over_allocated || figures.leaked) context.exit(EXIT.failed);
    };
    const { client: config } = readSettings(clientSettings, command, context.env);
    if (config.busUrl !== 'memory:') return withClient(context, command, run);

    const { cores, ram } = flags.shape;
    const host = { cores: Math.floor(cores * scale), ram: Math.floor(ram * scale) };
    const hosts = flags.hosts ?? hostsFor(events, host);
    context.terminal.note(
      `${formatNumber(vms.length)} VMs, ${formatNumber(events.length)} events, on ${formatNumber(hosts)} hosts of ${cores}/${ram}`,
    );
    const shape = { VCPU: host.cores, MEMORY_MB: host.ram };
    const fleet = await startEmbedded(context, { ...flags, hosts, shape, failureRate: 0, latencyMs: 0 });
    try {
      await run(fleet.client, () => fleet.audit());
    } finally {
      await fleet.close();
    }
  });
  return addHelp(command, [
    ['berth trace replay vms.csv.gz', 'all of it, on a fleet of the right size'],
    ['BERTH_SCHEDULER_WEIGHT_RAM=-1 berth trace replay vms.csv.gz', 'hosts are packed full, one after the other'],
    ['berth trace replay vms.csv.gz --hosts 100 --shape 6400/3072 --limit 5000', 'a part of it, on another fleet'],
    [
      'berth trace replay vms.csv.gz --bus-url amqp://...',
      "on running services, whose hosts must have the trace's units",
    ],
  ]);
}

function hostsFor(events: readonly TraceEvent[], host: CoresAndRam): number {
  const peak = peakDemand(events);
  return Math.ceil(Math.max(peak.cores / host.cores, peak.ram / host.ram) * HEADROOM);
}

function coresAndRam(text: string): CoresAndRam {
  const [, cores, ram] = /^(\d+(?:\.\d+)?)\/(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (!Number(cores) || !Number(ram)) throw new InvalidArgumentError('It must look like cores/ram, such as 6400/3072.');
  return { cores: Number(cores), ram: Number(ram) };
}

/** What `--json` prints. Only an embedded fleet can be audited. */
function figuresOf(events: readonly TraceEvent[], outcome: ReplayOutcome, audit: Audit | undefined) {
  const { placed, departed, failures, latenciesMs, seconds, capacity } = outcome;
  return {
    placed: placed.size,
    departed,
    failed: Object.fromEntries(countBy(failures, (reason) => reason)),
    seconds: Number(seconds.toFixed(3)),
    placements_per_s: Number((placed.size / seconds).toFixed(1)),
    latency_ms: {
      p50: percentile(latenciesMs, 50),
      p90: percentile(latenciesMs, 90),
      p99: percentile(latenciesMs, 99),
    },
    hosts: capacity.hosts,
    utilisation: utilisationOf(events, (vmId) => placed.has(vmId), capacity),
    ...(audit ? { over_allocated: audit.overAllocated, leaked: audit.leaked } : {}),
  };
}

function show({ terminal }: Context, figures: ReturnType<typeof figuresOf>): void {
  const { placements_per_s, latency_ms } = figures;
  const { peak, mean } = figures.utilisation;
  const failed = Object.entries(figures.failed).map(([reason, count]) => [`failed: ${reason}`, count] as const);
  const rows = [['placed', figures.placed] as const, ['departed', figures.departed] as const, ...failed];
  terminal.print(`\n${table(terminal, ['', 'VMS'], rows)}`);
  const bars = (['cores', 'ram'] as const).map((it) => [it, ...[mean, peak].map((of) => bar(terminal, of[it], 1, 20))]);
  terminal.print(`\n${table(terminal, ['UTILISATION', 'MEAN', 'PEAK'], bars)}`);
  terminal.print(
    `\n${formatNumber(figures.seconds)} s on ${formatNumber(figures.hosts)} hosts, ${formatNumber(placements_per_s)} placements/s; ` +
      `time to place p50 ${formatNumber(latency_ms.p50)} ms, p90 ${formatNumber(latency_ms.p90)} ms, p99 ${formatNumber(latency_ms.p99)} ms`,
  );
  if (figures.leaked !== undefined)
    terminal.print(`over-allocated ${figures.over_allocated}, leaked ${figures.leaked}`);
}
