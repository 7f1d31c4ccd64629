import { join } from 'node:path';
import { BerthError } from '#libs/domain/errors';
import { inventory } from '#libs/domain/inventory';
import { randomInt, seededRandom, seedOf } from '#libs/domain/random';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { AgentConfig } from '../options';
import { parseDevices, withDevices } from './devices-shape';
import type { NestedCapacity, OpenDriver } from './driver';
import { type FakeDriver, fakeDriver } from './fake';
import { parseAmounts, parseCapabilities, parseInventories, parseTraits, roundRobin } from './host-shape';
import { MACHINE, parseNested } from './nested-shape';
import { openProcessDriver } from './process/process-driver';

const FAKE_INVENTORY = { VCPU: inventory(64), MEMORY_MB: inventory(262_144), DISK_GB: inventory(4_000) };
const MAX_SEED = 2 ** 32;

/**
 * The opener of the configured driver.
 *
 * @throws BerthError `invalid_argument / bad_config` for a malformed setting.
 */
export function driverFromConfig(config: AgentConfig, around: RuntimeDeps): OpenDriver {
  switch (config.driver) {
    case 'fake':
      return fakeDrivers(config, around);
    case 'process':
      return processDriver(config, around);
    case 'docker':
      return dockerDriver(config, around);
    case 'baremetal':
      // A node's record is known only once the node is held.
      return () => Promise.reject(new BerthError('internal', 'bad_config', 'nodes are opened with what is remembered'));
  }
}

function processDriver(config: AgentConfig, around: RuntimeDeps): OpenDriver {
  const { stateDir } = config;
  if (stateDir === '') {
    const message = 'BERTH_AGENT_STATE_DIR must name a folder: the process driver keeps its instances there';
    throw new BerthError('invalid_argument', 'bad_config', message);
  }
  const capacity = capacityOfMachine(config);
  return ({ name }) => openProcessDriver({ root: join(stateDir, name, 'instances'), capacity }, config, around);
}

function dockerDriver(config: AgentConfig, around: RuntimeDeps): OpenDriver {
  if (config.dockerImage === '') {
    const message = 'BERTH_AGENT_DOCKER_IMAGE must name the image of instances whose request names none';
    throw new BerthError('invalid_argument', 'bad_config', message);
  }
  const capacity = capacityOfMachine(config);
  return async ({ name }) => {
    // The docker client takes longer to load than the rest of the agent.
    const { openDockerDriver } = await import('#services/compute-agent/drivers/docker/docker-driver');
    return openDockerDriver({ name, cell: config.cell, capacity }, config, around);
  };
}

/** The configured capacity; for missing parts the driver uses the machine's. */
function capacityOfMachine(config: AgentConfig) {
  const { inventories, traits, capabilities } = shapesFrom(config);
  const nested = config.providers === MACHINE ? machineOnly(config) : nestedFrom(config)(0);
  return { inventories: inventories[0], traits: traits[0] ?? [], nested, capabilities };
}

/** The opener of fake hosts. */
export function fakeDrivers(
  config: AgentConfig,
  { clock, random }: RuntimeDeps,
): (...host: Parameters<OpenDriver>) => Promise<FakeDriver> {
  const { inventories, traits, capabilities } = shapesFrom(config);
  const nested = nestedFrom(config);
  const externals = parseAmounts('BERTH_AGENT_FAKE_EXTERNAL', config.fakeExternal);
  const seed = config.fakeSeed || randomInt(random, MAX_SEED);
  return async ({ name, index }, remembered) => {
    const host = {
      capacity: {
        inventories: roundRobin(inventories, index, FAKE_INVENTORY),
        traits: roundRobin(traits, index, []),
        nested: nested(index),
        capabilities,
      },
      latencyMs: config.fakeLatencyMs,
      latencySpread: config.fakeLatencySpread,
      failureRate: config.fakeFailureRate,
      moves: {
        copyMs: config.fakeCopyMs,
        dirtyRate: config.fakeDirtyRate,
        moveFailureRate: config.fakeMoveFailureRate,
      },
      external: roundRobin(externals, index, {}),
      running: remembered,
    };
    return fakeDriver(host, clock, seededRandom(seedOf(`${seed} ${name}`)));
  };
}

/** Devices hang below providers that the setting names. */
function machineOnly({ devices }: AgentConfig): undefined {
  if (devices === '') return undefined;
  const message = `BERTH_AGENT_DEVICES needs the host's providers named: BERTH_AGENT_PROVIDERS is ${MACHINE}`;
  throw new BerthError('invalid_argument', 'bad_config', message);
}

/** The providers below the root of the n-th host, devices among them. */
function nestedFrom({ driver, providers, devices }: AgentConfig): (index: number) => readonly NestedCapacity[] {
  if (driver === 'fake' && providers === MACHINE) {
    const message = `BERTH_AGENT_PROVIDERS is ${MACHINE}, but a fake host has no machine`;
    throw new BerthError('invalid_argument', 'bad_config', message);
  }
  const setting = 'BERTH_AGENT_DEVICES';
  const own = parseNested('BERTH_AGENT_PROVIDERS', providers);
  const ofHosts = parseDevices(setting, devices);
  const hostAt = (index: number) => withDevices(setting, roundRobin(own, index, []), roundRobin(ofHosts, index, []));
  // Problems end the start, and not the opening of a host.
  for (let index = 0; index < Math.max(own.length, ofHosts.length); index++) hostAt(index);
  return hostAt;
}

/** The configured capacities. Without an inventory the process driver uses the machine's. */
function shapesFrom(config: AgentConfig) {
  return {
    inventories: parseInventories('BERTH_AGENT_INVENTORY', config.inventory),
    traits: parseTraits('BERTH_AGENT_TRAITS', config.traits),
    capabilities: parseCapabilities('BERTH_AGENT_CAPABILITIES', config.capabilities),
  };
}
