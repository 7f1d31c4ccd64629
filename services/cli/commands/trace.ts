import { writeFile } from 'node:fs/promises';
import { Command, type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import type { Client } from '#libs/client/client';
import { counted } from '#libs/runtime/counted';
import { EXIT } from '#libs/runtime/exit-codes';
import { percentile } from '#libs/runtime/percentiles';
import { clientSettings } from '../client/client-options';
import { withClient } from '../client/with-client';
import type { Context } from '../context';
import type { Audit } from '../embedded/audit';
import { startLate } from '../embedded/start-late';
import { addHelp } from '../help-text';
import { addSettingFlags, readSettings } from '../settings';
import { hostsInUse } from '../trace/hosts-in-use';
import { plotOf } from '../trace/plot';
import { readTrace } from '../trace/read-trace';
import { refusalsBySize } from '../trace/refusals-by-size';
import { type ReplayOutcome, replayTrace } from '../trace/replay';
import { type CoresAndRam, peakDemand, type TraceEvent, timelineOf, utilisationOf } from '../trace/timeline';
import { countBy, formatNumber } from '../views/format';
import { bar, table } from '../views/table';
import { wholeFrom } from './number-flags';

/** Default fleet size relative to the trace's peak: VMs leave gaps on hosts. */
const HEADROOM = 1.1;

/** `berth trace replay FILE` */
export function traceCommand(context: Context): CommandUnknownOpts {
  return new Command('trace').addCommand(replayCommand(context));
}

function replayCommand(context: Context): CommandUnknownOpts {
  const command = new Command('replay')
    .description(
      'Build and terminate the VMs of a trace, in its order. On fake hosts in this process, or on the services that BERTH_BUS_URL names.',
    )
    .argument('<file>', '.csv or .csv.gz with vmId, tenantId, cores, ram, starttime, endtime (in days)')
    .option(
      '--hosts <n>',
      "fake hosts; by default a tenth more than the trace's peak needs without gaps, which may not be enough",
      wholeFrom(1),
    )
    .option('--shape <cores/ram>', "size of each fake host, in the trace's units", coresAndRam, {
      cores: 9600,
      ram: 2250,
    })
    .option('--speed <n>', 'seconds of the trace in one second; 0 goes as fast as possible', wholeFrom(0), 0)
    .option('--limit <n>', 'replay only the first n VMs', wholeFrom(1), Number.POSITIVE_INFINITY)
    .option('--in-flight <n>', 'concurrent requests', wholeFrom(1), 128)
    .option('--schedulers <n>', 'schedulers in this process', wholeFrom(1), 2)
    .option('--conductors <n>', 'conductors in this process', wholeFrom(1), 2)
    .option('--plot <file>', 'write an SVG of used and requested resources over time')
    .option('--json', 'print the outcome as one JSON value', false);
  addSettingFlags(command, clientSettings).action(async (file, flags) => {
    const { vms, scale } = await readTrace(file, flags.limit);
    const events = timelineOf(vms);
    const run = async (client: Client, audit?: () => Promise<Audit>) => {
      const outcome = await replayTrace(context, client, events, flags);
      const figures = figuresOf(events, outcome, await audit?.());
      if (flags.plot !== undefined) {
        await writeFile(
          flags.plot,
          plotOf(events, (vmId) => outcome.placed.has(vmId), outcome.capacity),
        );
      }
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
      `${many(vms.length, 'VM')}, ${many(events.length, 'event')}, on ${many(hosts, 'host')} of ${cores}/${ram}`,
    );
    const shape = { VCPU: host.cores, MEMORY_MB: host.ram };
    const fleet = await startLate(context, { ...flags, hosts, shape, failureRate: 0, latencyMs: 0 });
    try {
      await run(fleet.client, () => fleet.audit());
    } finally {
      await fleet.close();
    }
  });
  return addHelp(command, [
    ['berth trace replay vms.csv.gz', 'all of it, on a tenth more hosts than its peak fills'],
    ['BERTH_SCHEDULER_PROFILE=headroom berth trace replay vms.csv.gz', 'room is kept for what is asked for'],
    ['berth trace replay vms.csv.gz --plot replay.svg', 'with a picture of it'],
    ['berth trace replay vms.csv.gz --hosts 100 --shape 6400/3072 --limit 5000', 'a part of it, on another fleet'],
    [
      'berth trace replay vms.csv.gz --bus-url amqp://...',
      "on running services, whose hosts must have the trace's units",
    ],
  ]);
}

function hostsFor(events: readonly TraceEvent[], host: CoresAndRam): number {
  return Math.ceil(hostsAtPeak(events, host) * HEADROOM);
}

/** The number of hosts like this one that the peak would fill if VMs could be split: fewer hosts must refuse some. */
function hostsAtPeak(events: readonly TraceEvent[], host: CoresAndRam): number {
  const peak = peakDemand(events);
  return Math.max(peak.cores / host.cores, peak.ram / host.ram);
}

function coresAndRam(text: string): CoresAndRam {
  const [, cores, ram] = /^(\d+(?:\.\d+)?)\/(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (!Number(cores) || !Number(ram)) throw new InvalidArgumentError('It must look like cores/ram, such as 6400/3072.');
  return { cores: Number(cores), ram: Number(ram) };
}

/** The output of `--json`. Only an embedded fleet can be audited. */
function figuresOf(events: readonly TraceEvent[], outcome: ReplayOutcome, audit: Audit | undefined) {
  const { placed, departed, failures, latenciesMs, seconds, capacity } = outcome;
  const vms = events.filter(({ kind }) => kind === 'arrival').map(({ vm }) => vm);
  const meanHost = { cores: capacity.cores / capacity.hosts, ram: capacity.ram / capacity.hosts };
  const hosts = [...capacity.byHost.values()];
  const largest = { cores: Math.max(...hosts.map((one) => one.cores)), ram: Math.max(...hosts.map((one) => one.ram)) };
  const inUse = hostsInUse(events, placed, capacity.byHost);
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
    hosts_at_least: Math.ceil(hostsAtPeak(events, meanHost)),
    hosts_in_use_at_most: inUse.most,
    stranded: inUse.stranded,
    refused_by_size: refusalsBySize(vms, (vmId) => placed.has(vmId), largest),
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
  showRefused(terminal, figures);
  const { cores, ram } = figures.stranded;
  terminal.print(`stranded on average: ${percent(cores)} of the cores, ${percent(ram)} of the ram`);
  terminal.print(
    `\n${formatNumber(figures.seconds)} s on ${many(figures.hosts, 'host')}, ${formatNumber(placements_per_s)} placements/s; ` +
      `time to place p50 ${formatNumber(latency_ms.p50)} ms, p90 ${formatNumber(latency_ms.p90)} ms, p99 ${formatNumber(latency_ms.p99)} ms`,
  );
  if (figures.leaked !== undefined)
    terminal.print(`over-allocated ${figures.over_allocated}, leaked ${figures.leaked}`);
}

function showRefused(terminal: Context['terminal'], figures: ReturnType<typeof figuresOf>): void {
  const { hosts, hosts_at_least: atLeast, hosts_in_use_at_most: inUse, refused_by_size: sizes } = figures;
  const refused = sizes.filter((size) => size.refused > 0);
  const rows = refused.map(({ upToShare, asked, refused: count, refusedCores, refusedRam }) => [
    Number.isFinite(upToShare) ? `up to ${percent(upToShare)}` : 'more',
    ...[count, asked, refusedCores, refusedRam].map(formatNumber),
  ]);
  const head = ['SHARE OF A HOST', 'REFUSED', 'ASKED', 'CORES REFUSED', 'RAM REFUSED'];
  if (rows.length > 0) terminal.print(`\n${table(terminal, head, rows)}`);
  const verdict = rows.length === 0 ? 'held all' : 'did not hold all';
  terminal.print(
    `\n${many(hosts, 'host')} ${verdict}; ${formatNumber(inUse)} in use at most; no fewer than ${formatNumber(atLeast)} can be enough`,
  );
}

function many(count: number, noun: string): string {
  return counted(count, noun, formatNumber);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
