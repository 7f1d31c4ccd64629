import type { SimulatedProcess } from '#libs/simulation/simulated-process';
import { type FakeDriver, fakeDriver } from '../../compute-agent/drivers/fake';
import { type MemoryJournal, memoryJournal } from '../../compute-agent/memory-journal';
import type { Durations } from './durations';
import type { HostContents } from './host-contents';

/** A host of the rehearsal: what runs there, and its disk, which outlive its agent. */
export class RehearsedHost {
  readonly journal: MemoryJournal;

  constructor(
    private readonly contents: HostContents,
    private readonly durations: Durations,
  ) {
    this.journal = memoryJournal(contents.instances);
  }

  /** The driver of one run of the agent. */
  driver({ clock, random }: SimulatedProcess): FakeDriver {
    const { capacity, external } = this.contents;
    const { build, copy } = this.durations;
    const instances = [...this.journal.instances.values()];
    const driver = fakeDriver(
      {
        capacity,
        external,
        latencyMs: build.medianMs,
        latencySpread: build.spread,
        failureRate: 0,
        moves: { copyMs: copy.medianMs, dirtyRate: 0, moveFailureRate: 0 },
        running: instances.map(({ uuid }) => uuid),
      },
      clock,
      random,
    );
    for (const { uuid, state } of instances) if (state === 'stopped') void driver.stop(uuid);
    return driver;
  }
}
