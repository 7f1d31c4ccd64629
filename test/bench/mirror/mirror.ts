import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '#libs/runtime/percentiles';
import { startRedis } from '#libs/testing/servers/servers';
import { type Bench, type Results, round } from '../harness';
import type { Answer, Question } from './mirror-process';

/** This build's compiled folder, and where each build has the bench's process. */
const OWN_BUILD = join(__dirname, '../../..');
const WARM_UP = { perSecond: 5_000, seconds: 6 };
const PROCESS = 'test/bench/mirror/mirror-process.js';

/**
 * The processor time that a scheduler pays for a claim of another one. Of two processes one claims at a steady rate,
 * the other only mirrors and reads the hosts that changed; what it uses beyond the same time at rest, divided by the
 * claims, is the price. Another build can be measured in turn with this one: on a shared machine only what alternates
 * in one run can be compared.
 */
export const mirrorBench: Bench = {
  name: 'mirror',
  purpose: 'processor time that a scheduler pays for a claim of another one, by the rate of claims',
  flags: {
    hosts: '1000',
    rates: '500,2000,4000, of claims a second',
    seconds: '4, of each measurement',
    rounds: '3, in turn; of each the median, the lowest and the highest',
    beside: 'FOLDER, dist of another build that is measured in turn, as `beside_...`',
  },
  async run({ flags, ...context }) {
    const note = (text: string) => context.note(text);
    const builds: [name: string, folder: string][] = [['', OWN_BUILD]];
    if (flags['beside'] !== undefined) builds.push(['beside_', resolve(flags['beside'])]);
    const pairs = await Promise.all(
      builds.map(async ([name, folder]) => ({ name, pair: await Pair.start(folder, Number(flags['hosts'] ?? 1_000)) })),
    );
    const seconds = Number(flags['seconds'] ?? 4);
    const figures = new Map<string, number[]>();
    try {
      note('warming up: until the code that mirrors is compiled, it costs several times as much');
      for (const { pair } of pairs) await pair.usOfForeignClaim(WARM_UP);
      for (let n = 0; n < Number(flags['rounds'] ?? 3); n++) {
        for (const perSecond of (flags['rates'] ?? '500,2000,4000').split(',').map(Number)) {
          for (const { name, pair } of pairs) {
            const us = await pair.usOfForeignClaim({ perSecond, seconds });
            const key = `${name}foreign_claim_at_${perSecond}_cpu_us`;
            note(`${key}: ${round(us)}`);
            figures.set(key, [...(figures.get(key) ?? []), us]);
          }
        }
      }
      return Object.assign({}, ...[...figures].map(([key, all]) => summary(key, all))) as Results;
    } finally {
      for (const { pair } of pairs) await pair.stop();
    }
  },
};

function summary(key: string, all: readonly number[]): Results {
  return {
    [key]: round(percentile(all, 50)),
    ...(all.length > 1 && { [`${key}_range`]: `${round(Math.min(...all))} to ${round(Math.max(...all))}` }),
  };
}

/** A process that claims and one that mirrors, of one build, on a Redis of their own. */
class Pair {
  private constructor(
    private readonly claimer: Asked,
    private readonly follower: Asked,
    private readonly stopRedis: () => Promise<void>,
  ) {}

  static async start(folder: string, hosts: number): Promise<Pair> {
    const redis = await startRedis({ appendOnly: true, appendfsync: 'no' });
    const start = async (role: string) => {
      const child = fork(join(folder, PROCESS), [role, redis.url, String(hosts)], {
        execArgv: [...process.execArgv, '--max-semi-space-size=64'],
      });
      const ended = once(child, 'exit');
      await once(child, 'message');
      return { child, ended };
    };
    const claimer = await start('claimer');
    return new Pair(claimer, await start('follower'), () => redis.stop());
  }

  async usOfForeignClaim({ perSecond, seconds }: typeof WARM_UP): Promise<number> {
    const atFirst = await ask(this.follower, { kind: 'cpu' });
    await sleep(seconds * 1_000);
    const before = await ask(this.follower, { kind: 'cpu' });
    const { claims = 0, revision = 0 } = await ask(this.claimer, { kind: 'claim', perSecond, seconds });
    const after = await ask(this.follower, { kind: 'catch_up', revision });
    const atRest = before.cpuUs - atFirst.cpuUs;
    return (after.cpuUs - before.cpuUs - atRest) / claims;
  }

  async stop(): Promise<void> {
    for (const { child, ended } of [this.claimer, this.follower]) {
      child.kill('SIGTERM');
      await ended;
    }
    await this.stopRedis();
  }
}

interface Asked {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
}

async function ask({ child, ended }: Asked, question: Question): Promise<Answer> {
  const answered = once(child, 'message') as Promise<[Answer]>;
  child.send(question);
  const answers = await Promise.race([answered, ended.then(() => undefined)]);
  if (!answers) throw new Error('a process of the benchmark ended');
  return answers[0];
}
