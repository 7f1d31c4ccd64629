import { readFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import type { RabbitmqServer } from '#libs/testing/servers/servers';
import { metricsAt, sumOf } from '../berth-process';
import { cpuSeconds, type Results, round } from '../harness';

/** Counters and sizes of a fleet's servers and processes at one moment. */
interface Reading {
  readonly atMs: number;
  readonly redisCommands: number;
  readonly brokerMessages: number;
  /** Accepted and refused reports of hosts and nodes, by the scheduler. */
  readonly reports: { readonly accepted: number; readonly refused: number };
  /** Processor time by process, in seconds. */
  readonly cpuSeconds: Readonly<Record<string, number>>;
}

/** The servers of a run, and the observed processes. */
export interface Watched {
  readonly rabbitmq: RabbitmqServer;
  readonly redisUrl: string;
  /** Port of the only scheduler's metrics. */
  readonly schedulerPort: number;
  /** Process ids by name, besides those of the broker and of Redis. */
  readonly processes: Readonly<Record<string, number>>;
}

const KIB_PER_MB = 1024;

/** The load of a fleet at rest on its servers. */
export class ServerLoad {
  readonly #redis: Redis;
  #brokerPid = 0;
  #redisPid = 0;

  private constructor(private readonly watched: Watched) {
    this.#redis = new Redis(watched.redisUrl);
  }

  static async open(watched: Watched): Promise<ServerLoad> {
    const load = new ServerLoad(watched);
    load.#brokerPid = Number(/\d+/.exec(await watched.rabbitmq.ctl('eval', 'os:getpid().'))?.[0]);
    load.#redisPid = Number(await load.#info('process_id'));
    return load;
  }

  /** Commands of Redis, messages to the broker, and processor time, each per second, without requests. */
  async atRest(seconds: number): Promise<Results> {
    const before = await this.#read();
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    const after = await this.#read();
    const passed = (after.atMs - before.atMs) / 1_000;
    const cpu = Object.entries(after.cpuSeconds).map(([name, value]) => {
      return [`rest_${name}_cpu_percent`, round((100 * (value - (before.cpuSeconds[name] ?? 0))) / passed)];
    });
    return {
      rest_reports_per_s: round((after.reports.accepted - before.reports.accepted) / passed),
      rest_reports_refused: after.reports.refused - before.reports.refused,
      rest_redis_commands_per_s: round((after.redisCommands - before.redisCommands) / passed),
      rest_broker_messages_per_s: round((after.brokerMessages - before.brokerMessages) / passed),
      ...Object.fromEntries(cpu),
    };
  }

  /** Resident memory in MB, by process. */
  async memory(): Promise<Results> {
    const entries = this.#pids().map(async ([name, pid]) => {
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      return [`${name}_rss_mb`, round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / KIB_PER_MB)] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  }

  /** One bare command per caller at a time: Redis' own ceiling. */
  async bareCommand(): Promise<void> {
    await this.#redis.hget('bench', 'nothing');
  }

  async close(): Promise<void> {
    await this.#redis.quit();
  }

  #pids(): (readonly [string, number])[] {
    return [['broker', this.#brokerPid], ['redis', this.#redisPid], ...Object.entries(this.watched.processes)];
  }

  async #read(): Promise<Reading> {
    const cpu = this.#pids().map(async ([name, pid]) => [name, await cpuSeconds(pid)] as const);
    const [redisCommands, brokerMessages, reports, cpuBy] = await Promise.all([
      this.#info('total_commands_processed').then(Number),
      this.#messages(),
      this.#reports(),
      Promise.all(cpu),
    ]);
    return { atMs: performance.now(), redisCommands, brokerMessages, reports, cpuSeconds: Object.fromEntries(cpuBy) };
  }

  async #info(field: string): Promise<string> {
    return new RegExp(`^${field}:(.*)$`, 'm').exec(await this.#redis.info())?.[1]?.trim() ?? '';
  }

  /** Published messages; several of one tick may share one. */
  async #messages(): Promise<number> {
    const metrics = await metricsAt(this.watched.rabbitmq.metricsTarget ?? '');
    return sumOf(metrics, 'rabbitmq_global_messages_received_total');
  }

  async #reports(): Promise<Reading['reports']> {
    const metrics = await metricsAt(`127.0.0.1:${this.watched.schedulerPort}`);
    const accepted = sumOf(metrics, 'berth_scheduler_stats_total', 'outcome="accepted"');
    return { accepted, refused: sumOf(metrics, 'berth_scheduler_stats_total') - accepted };
  }
}
