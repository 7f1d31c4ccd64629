import {
  buildInstanceCodec,
  buildReportCodec,
  destroyInstanceCodec,
  hostDiscrepancyCodec,
} from '#libs/contracts/compute';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { powerReportCodec, setPowerStateCodec } from '#libs/contracts/power';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { updateResourceStatsMethod } from '#libs/contracts/stats';
import type { Message } from '#libs/simulation/simulated-bus';

const DESCRIPTIONS: Readonly<Record<string, (body: Uint8Array) => string>> = {
  [buildInstanceCodec.type]: (body) => {
    const { instanceUuid, host, attempt } = buildInstanceCodec.decode(body);
    return `${instanceUuid} on ${host}, attempt ${attempt}`;
  },
  [destroyInstanceCodec.type]: (body) => {
    const { instanceUuid, host, attempt } = destroyInstanceCodec.decode(body);
    return `${instanceUuid} on ${host}, up to attempt ${attempt}`;
  },
  [buildReportCodec.type]: (body) => {
    const { instanceUuid, host, attempt, outcome } = buildReportCodec.decode(body);
    return `${instanceUuid} on ${host}, attempt ${attempt}: ${outcome}`;
  },
  [setPowerStateCodec.type]: (body) => {
    const { instanceUuid, host, powerState, restsOnEpoch, restsOnPosition } = setPowerStateCodec.decode(body);
    return `${instanceUuid} on ${host}: ${powerState}, resting on ${restsOnEpoch}.${restsOnPosition}`;
  },
  [powerReportCodec.type]: (body) => {
    const { instanceUuid, host, powerState, reason, epoch, position } = powerReportCodec.decode(body);
    return `${instanceUuid} on ${host}: ${[powerState, reason].join(' ').trim()}, at ${epoch}.${position}`;
  },
  [hostDiscrepancyCodec.type]: (body) => {
    const { host, unclaimed, missing } = hostDiscrepancyCodec.decode(body);
    const running = unclaimed.map(({ instanceUuid }) => instanceUuid);
    return `${host}: missing ${missing.join(', ') || 'none'}; unclaimed ${running.join(', ') || 'none'}`;
  },
  [buildRequestCodec.type]: (body) => buildRequestCodec.decode(body).instanceUuids.join(', '),
  [terminateInstanceCodec.type]: (body) => terminateInstanceCodec.decode(body).instanceUuid,
  [selectDestinationsMethod.request.type]: (body) => {
    return selectDestinationsMethod.request.decode(body).instanceUuids.join(', ');
  },
  [updateResourceStatsMethod.request.type]: (body) => {
    const { host, instances, sequence } = updateResourceStatsMethod.request.decode(body);
    const uuids = instances.map(({ instanceUuid, running }) => `${instanceUuid}${running ? '' : ' in progress'}`);
    return `${sequence} of ${host}: ${uuids.join(', ') || 'none'}`;
  },
};

/** Cache by body: a message is noted at each end of each link that it crosses. */
const described = new WeakMap<Uint8Array, string>();

/** A message in words: its type without its package, and the instances that it names. */
export function describeMessage(message: Message): string {
  const before = described.get(message.body);
  if (before !== undefined) return before;
  const words = describeAfresh(message);
  described.set(message.body, words);
  return words;
}

function describeAfresh({ type, body }: Message): string {
  const name = type.slice(type.lastIndexOf('.') + 1);
  const details = DESCRIPTIONS[type];
  if (details === undefined) return name;
  try {
    return `${name} ${details(body)}`;
  } catch {
    return `${name}, malformed`;
  }
}
