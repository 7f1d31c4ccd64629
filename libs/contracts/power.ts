import { berth } from '#generated/berth';
import type { PowerState } from '../domain/instance';
import { claimedAllocations, claimedMappings } from './allocations';
import { hostName, name, text, uuid, uuidOrEmpty, whole } from './checks';
import type { Conversion, MayBeLeftOut } from './field';
import { NO_RULES, ruled } from './field-rules';
import { bytes, count, enumOf, flag, omittable } from './fields';
import { MAX_HANDOVER_BYTES } from './limits';
import { message, type PlainOf } from './message';
import { KIB, MANY, ofAgents } from './message-rules';

const wire = berth.compute.v1;

/** Bytes that a driver hands over with an instance; only drivers read them. */
export const handover = bytes(MAX_HANDOVER_BYTES);

const SHUTDOWN: number = berth.scheduler.v1.PowerState.POWER_STATE_SHUTDOWN;
const UNSPECIFIED: number = berth.scheduler.v1.PowerState.POWER_STATE_UNSPECIFIED;

/** Only what does not run is said. */
const toWire = (state: PowerState | undefined) => (state === 'shutdown' ? SHUTDOWN : UNSPECIFIED);

/** The way in which an instance starts. */
export const runningOrShutdown: Conversion<PowerState, number> = ruled(NO_RULES, {
  fromWire: (value: number) => (value === SHUTDOWN ? 'shutdown' : 'running'),
  toWire,
});

/** The same of what an agent runs; undefined when it is running. */
export const shutdownIfSaid: Conversion<PowerState | undefined, number> & MayBeLeftOut = ruled(NO_RULES, {
  fromWire: (value: number) => (value === SHUTDOWN ? 'shutdown' : undefined),
  toWire,
  mayBeLeftOut: true,
});

/** The instance and attempt that an order or a report is about, and what of the host it rests on. */
const aboutPower = {
  instanceUuid: uuid,
  host: hostName,
  attempt: count,
  claimToken: whole,
  powerState: enumOf(berth.scheduler.v1.PowerState, 'POWER_STATE'),
  restsOnEpoch: whole,
  restsOnPosition: whole,
  /** To be moved, or moved, by this migration; '' for none. */
  migrationUuid: omittable(uuidOrEmpty),
  epoch: whole,
};

/** To `agent.<service host>`: stop an instance and keep it, or start it again. */
export const setPowerStateCodec = message(
  wire.SetPowerState,
  {
    ...aboutPower,
    /** Moved while it runs. */
    live: omittable(flag),
    allocations: claimedAllocations,
    mappings: claimedMappings,
  },
  { rule: ofAgents(1_024 * KIB, MANY) },
);
export type SetPowerState = PlainOf<typeof setPowerStateCodec>;

/** To `build.results`: how an instance is after it was ordered to be stopped or started; with a reason when it could not be. */
export const powerReportCodec = message(
  wire.PowerReport,
  {
    ...aboutPower,
    /** The handover of an instance that was stopped to be moved. */
    handover: omittable(handover),
    reason: name,
    message: text,
    position: whole,
  },
  { rule: ofAgents(256 * KIB, MANY) },
);
export type PowerReport = PlainOf<typeof powerReportCodec>;
