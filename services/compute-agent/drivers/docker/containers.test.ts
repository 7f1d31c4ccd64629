import { Containers } from './containers';
import type { Engine } from './engine';
import { externalContainers } from './external-containers';

const facts = JSON.stringify({ resources: { VCPU: 1, MEMORY_MB: 64 }, cores: [], devices: [] });
const labels = (more: Record<string, string>) => ({ 'berth.host': 'h1', 'berth.instance': 'i1', ...more });
const FOUND: Readonly<Record<string, Record<string, string>>> = {
  own: labels({ 'berth.cell': 'cell1', 'berth.facts': facts }),
  other: labels({ 'berth.cell': 'east', 'berth.facts': facts }),
  earlier: labels({ 'berth.facts': facts }),
  external: {},
};

/** An engine with these containers, listed by their labels. */
const engine = {
  async listContainers({ filters = {} }: { filters?: { label?: readonly string[] } } = {}) {
    const found = Object.entries(FOUND).map(([Id, Labels]) => ({ Id, Names: [`/${Id}`], Labels }));
    return found.filter(({ Labels }) => (filters.label ?? []).every((one) => hasLabel(Labels, one)));
  },
  getContainer: (id: string) => ({
    inspect: async () => ({ Config: { Labels: FOUND[id] }, HostConfig: { NanoCpus: 2e9 } }),
  }),
} as unknown as Engine;

function hasLabel(all: Readonly<Record<string, string>>, wanted: string): boolean {
  return Object.entries(all).some(([name, value]) => `${name}=${value}` === wanted);
}

it('finds the containers of its cell, and those of an earlier release, which say nothing of cells', async () => {
  const containers = new Containers(engine, { name: 'h1', cell: 'cell1' }, { dockerPull: 'never', dockerStopMs: 0 });
  expect((await containers.list()).map(({ Id }) => Id)).toEqual(['own', 'earlier']);
});

it('takes what another cell has on the engine for external, with what its instances have', async () => {
  expect(await externalContainers(engine, 'cell1', [0, 1]).list()).toEqual([
    { id: 'container:other', resources: { VCPU: 1, MEMORY_MB: 64 } },
    { id: 'container:external', resources: { VCPU: 2 } },
  ]);
});
