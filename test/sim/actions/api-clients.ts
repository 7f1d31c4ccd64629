import type { Random } from '#libs/domain/random';
import type { Command } from '#libs/placement/port/placement-store';
import type { Decision } from '../checker';
import { HOSTS } from '../settings';
import { confirmed, type Perform, pick, type World } from './common';

/** Written by an operator's tools on a host's provider; no report of its agent may undo it. */
export const CUSTOM_TRAIT = 'CUSTOM_OPERATOR';
export const AGGREGATE = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa';

/** Another consumer of the placement store goes to another host, or takes another amount. */
export function novaMoves(random: Random): Perform {
  const which = random.next();
  const host = pick(random, HOSTS);
  const VCPU = pick(random, [1, 2]);
  return ({ checker }) => {
    const all = [...checker.foreign.keys()];
    const uuid = all[Math.floor(which * all.length)];
    const row = checker.hosts.get(host);
    if (uuid !== undefined && row) void confirmed(checker.claimAsNova(uuid, { [row.providerUuid]: { VCPU } }));
  };
}

/** A client of the placement API deletes the allocations of an instance of Berth. */
export function deletesAllocations(random: Random): Perform {
  const which = random.next();
  return (world) => {
    const { known, foreign } = world.checker;
    const all = [...known.keys()].filter((uuid) => !foreign.has(uuid));
    const uuid = all[Math.floor(which * all.length)];
    if (uuid === undefined) return;
    const nobody = { projectId: 'nova', userId: 'nova', consumerType: undefined, owner: 'api' } as const;
    const consumers = [{ uuid, ...nobody, allocations: {}, mappings: {}, expect: { kind: 'any' } as const }];
    void confirmed(commitAsNova(world, { kind: 'write_allocations', consumers }));
  };
}

/** A client keeps one VCPU of a host for itself. */
export function reserves(random: Random): Perform {
  const host = pick(random, HOSTS);
  return (world) => {
    const { checker } = world;
    const provider = checker.providerWithVcpus(host);
    const present = provider?.inventories.VCPU;
    if (provider === undefined || present === undefined) return;
    // Resources that others use read as reserved, and are written back as reserved.
    const reserved = present.reserved + (checker.decisions.get(provider.uuid)?.reserves ? 0 : 1);
    if (reserved > present.total) return;
    const inventories = { VCPU: { ...present, reserved } };
    const what = { providerUuid: provider.uuid, generation: provider.generation, inventories, replace: false };
    void decide(world, provider.uuid, 'reserves', { kind: 'write_inventories', ...what });
  };
}

/** A client gives a host a trait of its own. */
export function givesTrait(random: Random): Perform {
  const host = pick(random, HOSTS);
  return (world) => {
    const provider = world.checker.providerOf(host);
    if (provider === undefined) return;
    const traits = [...new Set([...provider.traits, CUSTOM_TRAIT])];
    const what = { providerUuid: provider.uuid, generation: undefined, traits };
    void confirmed(commitAsNova(world, { kind: 'create_name', catalogue: 'trait', name: CUSTOM_TRAIT })).then(() =>
      decide(world, provider.uuid, 'hasTrait', { kind: 'write_traits', ...what }),
    );
  };
}

/** A client puts a host into an aggregate. */
export function givesAggregate(random: Random): Perform {
  const host = pick(random, HOSTS);
  return (world) => {
    const provider = world.checker.providerOf(host);
    if (provider === undefined) return;
    const aggregates = [...new Set([...provider.aggregates, AGGREGATE])];
    const what = { providerUuid: provider.uuid, generation: undefined, aggregates };
    void decide(world, provider.uuid, 'isInAggregate', { kind: 'write_aggregates', ...what });
  };
}

async function decide(world: World, uuid: string, decision: Decision, command: WithoutTime<Command>): Promise<void> {
  const { decisions, storeBegan } = world.checker;
  const result = await commitAsNova(world, command).catch(() => undefined);
  if (result?.kind !== 'committed' || world.checker.storeBegan !== storeBegan) return;
  decisions.set(uuid, { ...decisions.get(uuid), [decision]: true });
}

type WithoutTime<C> = C extends unknown ? Omit<C, 'atMs'> : never;

function commitAsNova({ fleet }: World, command: WithoutTime<Command>) {
  const { stores, process } = fleet.member('nova');
  return stores.placement.commit({ ...command, atMs: process.clock.now() });
}
