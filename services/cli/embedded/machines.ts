import type { Bus } from '#libs/bus/port';
import type { Running, RuntimeDeps } from '#libs/runtime/service';
import type { ComputeAgentParts } from '../../compute-agent/agent-run';
import { memoryJournal } from '../../compute-agent/memory-journal';
import type { AgentConfig } from '../../compute-agent/options';
import { startComputeAgent } from '../../compute-agent/start';

/** An agent of a fake host or of a pool, which can die while its instances keep running. */
export interface Machine {
  readonly agent: Running;
  /** Cuts the agent off for good. */
  kill(): Promise<void>;
  /** Starts another agent on the same machine: it finds the running instances and its journal. */
  revive(): Promise<void>;
  close(): Promise<void>;
}

export interface MachineParts {
  readonly around: () => RuntimeDeps;
  readonly connect: () => Promise<Bus>;
  readonly config: AgentConfig;
  readonly carries: Pick<ComputeAgentParts, 'driver' | 'nodes'>;
}

export async function startMachine({ around, connect, config, carries }: MachineParts): Promise<Machine> {
  const journal = memoryJournal();
  const started: { readonly bus: Bus; readonly agent: Running }[] = [];
  const start = async () => {
    const bus = await connect();
    const parts = { ...around(), ...carries, bus, config, journal: async () => journal };
    started.push({ bus, agent: await startComputeAgent(parts) });
  };
  await start();
  return {
    get agent() {
      return (started.at(-1) as (typeof started)[number]).agent;
    },
    kill: async () => started.at(-1)?.bus.close(),
    revive: start,
    async close() {
      await Promise.all(started.map(({ agent }) => agent.close()));
      await Promise.all(started.map(({ bus }) => bus.close()));
    },
  };
}
