import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { environment } from '#libs/runtime/system';
import { findNova } from '../../fleet/whole-nova/nova-processes';
import type { Samples } from '../harness';

const ROOT = dirname(require.resolve('#package.json'));
const PROGRAM = join(ROOT, 'test/bench/nova/select_client.py');
const CLIENT_FOLDER = join(ROOT, 'test/integration/nova');

/** A Python process that speaks oslo.messaging with Nova's own objects (`select_client.py`). */
export class OsloProcess {
  readonly #lines: AsyncIterator<string>;

  constructor(private readonly child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  static start(transportUrl: string): OsloProcess {
    const env = { ...environment(), PYTHONWARNINGS: 'ignore', PYTHONDONTWRITEBYTECODE: '1' };
    const args = [PROGRAM, CLIENT_FOLDER, transportUrl];
    return new OsloProcess(spawn(findNova(), args, { env, stdio: ['pipe', 'pipe', 'inherit'] }));
  }

  /** Calls one after the other, one at least; with the hosts of the last answer. */
  async select(topic: string, seconds: number): Promise<Samples & { readonly hosts: readonly string[] }> {
    const { durations, elapsed, hosts } = (await this.#order({ select: topic, seconds })) as Ran;
    return { durationsMs: durations, elapsedMs: elapsed, hosts };
  }

  /** Tells all schedulers of a topic that hosts run nothing, as each nova-compute does every few minutes. */
  async sync(topic: string, hosts: readonly string[]): Promise<void> {
    await this.#order({ sync: topic, hosts });
  }

  /** Answers calls of a topic with what they carry, from now on. */
  async echo(topic: string): Promise<void> {
    await this.#order({ echo: topic });
  }

  async #order(order: object): Promise<unknown> {
    this.child.stdin.write(`${JSON.stringify(order)}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error('a caller of oslo.messaging ended');
    return JSON.parse(value);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }
}

interface Ran {
  readonly durations: readonly number[];
  readonly elapsed: number;
  readonly hosts: readonly string[];
}

/** Runs callers at once. */
export async function selectAtOnce(callers: readonly OsloProcess[], topic: string, seconds: number) {
  const ran = await Promise.all(callers.map((caller) => caller.select(topic, seconds)));
  return {
    durationsMs: ran.flatMap(({ durationsMs }) => durationsMs),
    elapsedMs: Math.max(...ran.map(({ elapsedMs }) => elapsedMs)),
  };
}
