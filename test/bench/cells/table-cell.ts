import { requestSpecCodec } from '#libs/contracts/request-spec';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { type Random, randomInt } from '#libs/domain/random';
import { systemClock } from '#libs/runtime/system';
import type { HostState } from '../../../services/scheduler/fleet/host-state';

const HOST_VCPUS = 64;
const HOST_MEMORY_MB = 262_144;
const TRAITS = [['COMPUTE_NODE'], ['COMPUTE_NODE', 'HW_CPU_X86_AVX512F'], ['COMPUTE_NODE', 'CUSTOM_NVME']];

/** A cell as a table of its hosts' free amounts. In place of a bus, it answers `SelectDestinations`. */
export class TableCell {
  /** Time spent in cells, which does not count for the top. */
  static workMs = 0;
  readonly #vcpus: Int32Array;
  readonly #memoryMb: Int32Array;
  readonly #kinds: Uint8Array;
  readonly #clock = systemClock();
  readonly #aggregates;

  constructor(
    hostCount: number,
    used: number,
    private readonly zone: string,
    private readonly random: Random,
  ) {
    this.#vcpus = Int32Array.from({ length: hostCount }, () => Math.floor(HOST_VCPUS * this.#free(used)));
    this.#memoryMb = Int32Array.from({ length: hostCount }, () => Math.floor(HOST_MEMORY_MB * this.#free(used)));
    this.#kinds = Uint8Array.from({ length: hostCount }, () => (random.next() < 0.8 ? 0 : 1 + randomInt(random, 2)));
    this.#aggregates = [{ uuid: '', name: zone, metadata: { [ZONE_KEY]: zone }, createdAtMs: 0, updatedAtMs: 0 }];
  }

  /** Hosts differ: most are nearly full, some are not. */
  #free(used: number): number {
    return Math.min(1, -Math.log(1 - this.random.next()) * (1 - used));
  }

  /** The part of each host that a summary reads. */
  *hosts(): Iterable<HostState> {
    for (let n = 0; n < this.#vcpus.length; n++) {
      const free = { VCPU: this.#vcpus[n] ?? 0, MEMORY_MB: this.#memoryMb[n] ?? 0 };
      const traits = TRAIT_SETS[this.#kinds[n] ?? 0];
      const host = { up: true, enabled: true };
      yield { host, aggregates: this.#aggregates, traits, free, instances: 0 } as unknown as HostState;
    }
  }

  find(
    shape: Readonly<Record<string, number>>,
    zone: string | undefined,
    traits: readonly string[],
  ): number | undefined {
    if (zone !== undefined && zone !== this.zone) return undefined;
    const count = this.#vcpus.length;
    const from = randomInt(this.random, count);
    for (let i = 0; i < count; i++) {
      const n = (from + i) % count;
      if ((this.#vcpus[n] ?? 0) < (shape['VCPU'] ?? 0) || (this.#memoryMb[n] ?? 0) < (shape['MEMORY_MB'] ?? 0))
        continue;
      if (traits.every((trait) => TRAIT_SETS[this.#kinds[n] ?? 0]?.has(trait))) return n;
    }
    return undefined;
  }

  isConnected(): boolean {
    return true;
  }

  async call(_queue: unknown, { body }: { readonly body: Uint8Array }): Promise<Uint8Array> {
    const startedAtMs = this.#clock.elapsed();
    const { instanceUuids, requestSpec: encoded } = selectDestinationsMethod.request.decode(body);
    const { resources, availabilityZone, requiredTraits } = requestSpecCodec.decode(encoded);
    const at = this.find(resources, availabilityZone || undefined, requiredTraits);
    if (at !== undefined) {
      this.#vcpus[at] = (this.#vcpus[at] ?? 0) - (resources['VCPU'] ?? 0);
      this.#memoryMb[at] = (this.#memoryMb[at] ?? 0) - (resources['MEMORY_MB'] ?? 0);
    }
    const selected = { host: `h${at}`, cell: '', allocationRequest: NO_BYTES, serviceHost: '', epoch: 0 };
    const destination = { instanceUuid: instanceUuids[0] ?? '', selected, alternates: [], claimToken: 1 };
    const response = { destinations: at === undefined ? [] : [destination], noValidHost: undefined };
    const encodedResponse = selectDestinationsMethod.response.encode(response);
    TableCell.workMs += this.#clock.elapsed() - startedAtMs;
    return encodedResponse;
  }

  async close(): Promise<void> {}
}

const TRAIT_SETS = TRAITS.map((traits) => new Set(traits));
const NO_BYTES = new Uint8Array();
