import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import type { PowerState } from '../domain/instance';
import { checkedClaimed, claimedToWire } from './allocations';
import { enumeration, hostName, name, text, uuid, uuidOrEmpty, whole } from './checks';
import { type Codec, codec } from './codec';
import { MAX_HANDOVER_BYTES } from './limits';
import type { PowerReport, SetPowerState } from './messages';

const wire = berth.compute.v1;
const {
  POWER_STATE_UNSPECIFIED: UNSPECIFIED,
  POWER_STATE_RUNNING: RUNNING,
  POWER_STATE_SHUTDOWN: SHUTDOWN,
} = berth.scheduler.v1.PowerState;
const POWER_STATES = enumeration({
  running: RUNNING,
  shutdown: SHUTDOWN,
});

/** To `agent.<service host>`: stop an instance and keep it, or start it again. */
export const setPowerStateCodec: Codec<SetPowerState> = codec(
  'berth.compute.v1.SetPowerState',
  wire.SetPowerState,
  ({ migrationUuid = '', live = false, ...order }) => ({
    ...order,
    migrationUuid,
    live,
    powerState: POWER_STATES.toWire(order.powerState),
    ...claimedToWire(order),
  }),
  (order) => ({
    ...aboutFromWire(order),
    epoch: whole(order.epoch, 'epoch'),
    live: order.live,
    ...checkedClaimed(order),
  }),
);

/** To `build.results`: how an instance is after it was ordered to be stopped or started. */
export const powerReportCodec: Codec<PowerReport> = codec(
  'berth.compute.v1.PowerReport',
  wire.PowerReport,
  ({ migrationUuid = '', handover = NOTHING, ...report }) => ({
    ...report,
    migrationUuid,
    handover,
    powerState: POWER_STATES.toWire(report.powerState),
  }),
  (report) => ({
    ...aboutFromWire(report),
    handover: handoverFromWire(report.handover, 'handover'),
    reason: name(report.reason, 'reason'),
    message: text(report.message, 'message'),
    epoch: whole(report.epoch, 'epoch'),
    position: whole(report.position, 'position'),
  }),
);

function aboutFromWire(order: berth.compute.v1.SetPowerState | berth.compute.v1.PowerReport) {
  return {
    instanceUuid: uuid(order.instanceUuid, 'instance_uuid'),
    host: hostName(order.host, 'host'),
    attempt: order.attempt,
    claimToken: whole(order.claimToken, 'claim_token'),
    powerState: POWER_STATES.fromWire(order.powerState, 'power_state'),
    restsOnEpoch: whole(order.restsOnEpoch, 'rests_on_epoch'),
    restsOnPosition: whole(order.restsOnPosition, 'rests_on_position'),
    migrationUuid: uuidOrEmpty(order.migrationUuid, 'migration_uuid'),
  };
}

/** What a driver hands over with an instance, which only drivers read. */
export function handoverFromWire(value: Uint8Array, field: string): Uint8Array {
  if (value.length <= MAX_HANDOVER_BYTES) return value;
  throw invalidArgument('too_long', `${field} may have at most ${MAX_HANDOVER_BYTES} bytes`, field);
}

const NOTHING = new Uint8Array();

/** Of what an agent runs: only what does not run is said. */
export const runningPowerState = {
  toWire: (powerState: PowerState | undefined) => (powerState === 'shutdown' ? SHUTDOWN : UNSPECIFIED),
  fromWire: (value: berth.scheduler.v1.PowerState | null | undefined) =>
    value === SHUTDOWN ? ({ powerState: 'shutdown' } as const) : {},
};
