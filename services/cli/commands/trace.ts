import { Command, InvalidArgumentError } from 'commander';
import { EXIT } from '#libs/runtime/exit-codes';
import { percentile } from '#libs/runtime/percentiles';
import type { Client } from '../client/client';
import { clientSettings } from '../client/client-options';
import { addClientFlags, withClient } from '../client/with-client';
import type { Context } from '../context';
import type { Audit } from '../embedded/audit';
import { startEmbedded } from '../embedded/fleet';
import { addHelp } from '../help-text';
import { readSettings } from '../settings';
import { readTrace } from '../trace/read-trace';
import { type ReplayOutcome, replayTrace } from '../trace/replay';
import { peakDemand, type TraceEvent, timelineOf, type Utilisation, utilisationOf } from '../trace/timeline';
import { formatNumber } from '../views/format';
import { bar, table } from '../views/table';
import { wholeFrom } from './number-flags';

interface ReplayFlags {
  readonly hosts?: number;
  readonly shape: Shape;
  readonly speed: number;
  readonly limit: number;
  readonly inFlight: number;
  readonly schedulers: number;
  readonly conductors: number;
  readonly json: boolean;
}

interface Shape {
  readonly cores: number;
  readonly ram: number;
}

/** Default fleet size relative to the trace's peak: VMs do not fill hosts without gaps. */
const HEADROOM = 1.1;

/** `berth trace replay FILE` */
export function traceCommand(context: Context): Command {
  return new Command('trace').description('Work with traces of VM requests.').addCommand(replayCommand(context));
}

function replayCommand(context: Context): Command {
  const command = new Command('replay')
    .description(
      'Build and terminate the VMs of a trace, in its order. On fake hosts in this process, or on the services that BERTH_BUS_URL names.',
    )
    .argument('<file>', '.csv or .csv.gz with vmId, tenantId, cores, ram, starttime, endtime (in days)')
    .option('--hosts <n>', "fake hosts; enough for the trace's peak when not given", wholeFrom(1))
    .option('--shape <cores/ram>', "what each fake host has, in the trace's units", shape, { cores: 9600, ram: 2250 })
    .option('--speed <n>', 'seconds of the trace in one second; 0 goes as fast as possible', wholeFrom(0), 0)
    .option('--limit <n>', 'only the first so many VMs', wholeFrom(1), Number.POSITIVE_INFINITY)
    .option('--in-flight <n>', 'concurrent requests', wholeFrom(1), 128)
    .option('--schedulers <n>', 'schedulers in this process', wholeFrom(1), 2)
    .option('--conductors <n>', 'conductors in this process', wholeFrom(1), 2)
    .option('--json', 'print the outcome as one JSON value', false);
  addClientFlags(command).action((file: string) => replay(context, command, file));
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

async function replay(context: Context, command: Command, file: string): Promise<void> {
  const flags = command.opts<ReplayFlags>();
  const { vms, scale } = await readTrace(file, flags.limit);
  const events = timelineOf(vms);
  const run = async (client: Client, audit?: () => Promise<Audit>) => {
    const outcome = await replayTrace(context, client, events, flags);
    const utilisation = utilisationOf(events, (vmId) => outcome.placed.has(vmId), outcome.capacity);
    const figures = figuresOf(outcome, utilisation, await audit?.());
    if (flags.json) context.terminal.json(figures);
    else show(context, figures);
    if (figures.over_allocated || figures.leaked) context.exit(EXIT.failed);
  };
  const { client: clientConfig } = readSettings(clientSettings, command, context.env);
  if (clientConfig.busUrl !== 'memory:') return withClient(context, command, run);

  const host = { VCPU: Math.floor(flags.shape.cores * scale), MEMORY_MB: Math.floor(flags.shape.ram * scale) };
  const hosts = flags.hosts ?? hostsFor(events, { cores: host.VCPU, ram: host.MEMORY_MB });
  context.terminal.note(
    `${formatNumber(vms.length)} VMs, ${formatNumber(events.length)} events, on ${formatNumber(hosts)} hosts of ${flags.shape.cores}/${flags.shape.ram}`,
  );
  const { schedulers, conductors } = flags;
  const fleet = await startEmbedded(context, {
    schedulers,
    conductors,
    hosts,
    shape: host,
    failureRate: 0,
    latencyMs: 0,
  });
  try {
    await run(fleet.client, () => fleet.audit());
  } finally {
    await fleet.close();
  }
}

function hostsFor(events: readonly TraceEvent[], host: Shape): number {
  const peak = peakDemand(events);
  return Math.ceil(Math.max(peak.cores / host.cores, peak.ram / host.ram) * HEADROOM);
}

function shape(text: string): Shape {
  const [, cores, ram] = /^(\d+(?:\.\d+)?)\/(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (!Number(cores) || !Number(ram)) throw new InvalidArgumentError('It must look like cores/ram, such as 6400/3072.');
  return { cores: Number(cores), ram: Number(ram) };
}

/** What `--json` prints. Only an embedded fleet can be audited. */
function figuresOf(outcome: ReplayOutcome, utilisation: Utilisation, audit: Audit | undefined) {
  const { placed, departed, failures, latenciesMs, seconds, capacity } = outcome;
  return {
    placed: placed.size,
    departed,
    failed: Object.fromEntries(failures),
    seconds: Number(seconds.toFixed(3)),
    placements_per_s: Number((placed.size / seconds).toFixed(1)),
    latency_ms: {
      p50: percentile(latenciesMs, 50),
      p90: percentile(latenciesMs, 90),
      p99: percentile(latenciesMs, 99),
    },
    hosts: capacity.hosts,
    utilisation,
    ...(audit ? { over_allocated: audit.overAllocated, leaked: audit.leaked } : {}),
  };
}

function show({ terminal }: Context, figures: ReturnType<typeof figuresOf>): void {
  const { placements_per_s, latency_ms, utilisation } = figures;
  const { peak, mean } = utilisation;
  terminal.print('');
  terminal.print(
    table(
      terminal,
      ['', 'VMS'],
      [
        ['placed', figures.placed],
        ['departed', figures.departed],
        ...Object.entries(figures.failed).map(([reason, count]): [string, number] => [`failed: ${reason}`, count]),
      ],
    ),
  );
  terminal.print(
    `\n${table(
      terminal,
      ['UTILISATION', 'MEAN', 'PEAK'],
      [
        ['cores', bar(terminal, mean.cores, 1, 20), bar(terminal, peak.cores, 1, 20)],
        ['ram', bar(terminal, mean.ram, 1, 20), bar(terminal, peak.ram, 1, 20)],
      ],
    )}`,
  );
  terminal.print(
    `\n${formatNumber(figures.seconds)} s on ${formatNumber(figures.hosts)} hosts, ${formatNumber(placements_per_s)} placements/s; ` +
      `time to place p50 ${formatNumber(latency_ms.p50)} ms, p90 ${formatNumber(latency_ms.p90)} ms, p99 ${formatNumber(latency_ms.p99)} ms`,
  );
  if (figures.leaked !== undefined)
    terminal.print(`over-allocated ${figures.over_allocated}, leaked ${figures.leaked}`);
}
