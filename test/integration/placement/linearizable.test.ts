import { randomUUID } from 'node:crypto';
import { inventory } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import type { Answered } from '#services/placement-api/testing/answered';
import type { Client } from '../../../services/placement-api/testing/client';
import { consumerBody } from '../../../services/placement-api/testing/state';
import { eventually, TestCell } from '../test-cell';

/*
 * Two placement APIs on one Redis answer as one: a read through one sees every earlier write through the other,
 * or by a scheduler.
 */

const SPEC = aRequestSpec({ resources: { VCPU: 1 } });
let cell: TestCell;
beforeAll(async () => {
  cell = await TestCell.start();
});
afterAll(() => cell.stop());

/** Requires the status of an answer, and returns its body. */
async function must<T>(answered: Promise<Answered>, status: number): Promise<T> {
  const { status: got, text, body } = await answered;
  expect({ status: got, text }).toEqual({ status, text: got === status ? text : '' });
  return body as T;
}

describe('a write through one API is seen at once through the other', () => {
  /** Eight at a time, so that some are always in progress; each makes nine writes and eleven reads. */
  const [LIVES, AT_ONCE] = [240, 8];

  it('by thousands of reads, whatever was written', async () => {
    const random = seededRandom(7);
    let left = LIVES;
    const worker = async () => {
      while (left-- > 0) await lifeOfProvider(() => (random.next() < 0.5 ? cell.apis : [cell.apis[1], cell.apis[0]]));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(alternations).toBeGreaterThan(2_000);
  });

  let alternations = 0;

  async function lifeOfProvider(twoApis: () => readonly [Client, Client]): Promise<void> {
    const [uuid, consumer, aggregate] = [randomUUID(), randomUUID(), randomUUID()];
    const path = `/resource_providers/${uuid}`;
    let generation = 0;
    /** Writes through one API and reads through the other. */
    const alternate = async (write: (api: Client) => Promise<Answered>, status: number, seen: string, what: object) => {
      const [writer, reader] = twoApis();
      alternations++;
      await must(write(writer), status);
      expect(await must(reader.get(seen), 200)).toMatchObject(what);
    };
    /** A write that raises the generation, read back through the same API. */
    const raise = async (what: string, body: object) => {
      const before = { ...body, resource_provider_generation: generation++ };
      const write = (api: Client) => api.put(`${path}/${what}`, before);
      await alternate(write, 200, `${path}/${what}`, { ...body, resource_provider_generation: generation });
    };

    await alternate((api) => api.post('/resource_providers', { uuid, name: uuid }), 200, path, { name: uuid });
    await alternate((api) => api.put(path, { name: `new-${uuid}` }), 200, `/resource_providers?name=new-${uuid}`, {
      resource_providers: [{ uuid, generation }],
    });
    const traits = ['HW_CPU_X86_AVX2'];
    await raise('inventories', { inventories: { VCPU: { total: 4 } } });
    await raise('inventories', { inventories: { VCPU: { total: 8 } } });
    await raise('traits', { traits });
    await raise('aggregates', { aggregates: [aggregate] });
    const query = `/allocation_candidates?resources=VCPU:5&member_of=${aggregate}&required=${traits.join()}`;
    const [, other] = twoApis();
    expect(await must(other.get(query), 200)).toMatchObject({ provider_summaries: { [uuid]: { traits } } });
    const claim = consumerBody({ [uuid]: { VCPU: 5 } });
    await alternate((api) => api.put(`/allocations/${consumer}`, claim), 204, `/allocations/${consumer}`, {
      allocations: { [uuid]: { generation: ++generation, resources: { VCPU: 5 } } },
      consumer_generation: 1,
    });
    expect(await must(other.get(query), 200)).toMatchObject({ allocation_requests: [] });
    await alternate((api) => api.delete(`/allocations/${consumer}`), 204, `${path}/usages`, { usages: { VCPU: 0 } });
    await alternate((api) => api.delete(path), 204, `/resource_providers?uuid=${uuid}`, { resource_providers: [] });
  }
});

it('counts on through either API, whoever reads and writes: a generation never goes back', async () => {
  const uuid = randomUUID();
  const path = `/resource_providers/${uuid}/inventories`;
  const first = { inventories: { VCPU: { total: 1 } }, resource_provider_generation: 0 };
  await must(cell.api(0).post('/resource_providers', { uuid, name: uuid }), 200);
  await must(cell.api(0).put(path, first), 200);
  interface Inventories {
    readonly resource_provider_generation: number;
    readonly inventories: { readonly VCPU: { readonly total: number } };
  }
  /** The newest generation in any answer so far, and the number of requests. */
  const seen = { generation: 1, reads: 0, writes: 1 };
  const isOn = () => seen.writes <= 50 || seen.reads <= 500;
  const learn = ({ resource_provider_generation: generation, inventories: { VCPU } }: Inventories, atLeast: number) => {
    expect(generation).toBeGreaterThanOrEqual(atLeast);
    // Parts of one answer belong together: the n-th write wrote n.
    expect(VCPU.total).toBe(generation);
    seen.generation = Math.max(seen.generation, generation);
    return generation;
  };
  const read = async (n: number) => {
    const atLeast = seen.generation;
    const body = await must<Inventories>(cell.api(n).get(path), 200);
    seen.reads++;
    return learn(body, atLeast);
  };
  const write = async (n: number) => {
    const generation = await read(n);
    const inventories = { VCPU: { total: generation + 1 } };
    const answered = await cell.api(n + 1).put(path, { inventories, resource_provider_generation: generation });
    const isConflict = answered.status === 409 && answered.text.includes('placement.concurrent_update');
    expect([isConflict, answered.status]).toContainEqual(isConflict || 200);
    if (isConflict) return;
    learn(answered.body as Inventories, generation + 1);
    seen.writes++;
  };
  const reader = async (n: number) => {
    for (let turn = n; isOn(); turn++) await read(turn);
  };
  const writer = async (n: number) => {
    for (let turn = n; isOn(); turn++) await write(turn);
  };
  await Promise.all([...[0, 1, 2, 3].map(reader), ...[0, 1].map(writer)]);
  expect(await read(0)).toBe(seen.writes);
});

describe('schedulers and APIs see what the others claim', () => {
  it("what a scheduler has claimed is in the API's next answer", async () => {
    const provider = await cell.reportHost('host-roomy', { VCPU: inventory(1_000) });
    for (let n = 0; n < 200; n++) {
      const instance = randomUUID();
      expect((await cell.select(instance, SPEC)).destinations).toHaveLength(1);
      expect(await must(cell.api(n).get(`/allocations/${instance}`), 200)).toMatchObject({
        allocations: { [provider]: { resources: { VCPU: 1 } } },
      });
      const usages = await must(cell.api(n + 1).get(`/resource_providers/${provider}/usages`), 200);
      expect(usages).toMatchObject({ usages: { VCPU: n + 1 } });
    }
  });

  it('a host that the API has filled is not chosen again, and the answer says why', async () => {
    const name = 'CUSTOM_PLACE';
    await must(cell.api(0).put(`/resource_classes/${name}`, undefined), 201);
    const provider = await cell.reportHost('host-filled', { [name]: inventory(2) });
    const spec = aRequestSpec({ resources: { [name]: 1 } });
    const isChosen = async () => (await cell.select(randomUUID(), spec)).destinations.length === 1;
    await eventually('the schedulers know the host', isChosen);
    for (let n = 0; n < 100; n++) {
      const consumer = randomUUID();
      await must(cell.api(n).put(`/allocations/${consumer}`, consumerBody({ [provider]: { [name]: 1 } })), 204);
      const { destinations, noValidHost } = await cell.select(randomUUID(), spec);
      expect(destinations).toEqual([]);
      const capacity = noValidHost?.filters.find(({ filter }) => filter === 'capacity');
      expect(capacity?.reasons).toMatchObject({ capacity_custom_place: 1 });
      await must(cell.api(n + 1).delete(`/allocations/${consumer}`), 204);
    }
    await eventually('what the API gave back is chosen again', isChosen);
  });

  it("the audit gives back what nobody runs of the conductors' claims, and leaves alone those of the API", async () => {
    const provider = await cell.reportHost('host-audited', { VCPU: inventory(1_000) });
    const [ours, theirs] = [randomUUID(), randomUUID()];
    await must(cell.api(0).put(`/allocations/${theirs}`, consumerBody({ [provider]: { VCPU: 1 } })), 204);
    expect((await cell.select(ours, SPEC)).destinations).toHaveLength(1);
    const before = await must(cell.api(1).get(`/allocations/${theirs}`), 200);
    const soon = { BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '100', BERTH_CONDUCTOR_AUDIT_GRACE_MS: '0' };
    await cell.launch('conductor', soon);
    const holdsNothing = async () =>
      JSON.stringify(await must(cell.api(0).get(`/allocations/${ours}`), 200)) === '{"allocations":{}}';
    await eventually('an audit has been', holdsNothing);
    expect(await must(cell.api(1).get(`/allocations/${theirs}`), 200)).toEqual(before);
  });
});
