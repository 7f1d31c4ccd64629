import { berth } from '#generated/berth';
import { amounts, hostName, traits, whole } from './checks';
import { count, list } from './fields';
import { message, type PlainOf } from './message';
import { MANY, ofServices } from './message-rules';

const wire = berth.conductor.v1;

/** Shapes in one event, those first that serve most. */
export const MAX_WANTED_SHAPES = 20;

const wantedHosts = message(wire.WantedHosts, {
  like: hostName,
  capacity: amounts,
  traits,
  hosts: count,
  serves: count,
});
export type WantedHosts = PlainOf<typeof wantedHosts>;

/** With the topic `capacity.wanted`: hosts that would serve what waits, for each shape alone, the best first. */
export const capacityWantedCodec = message(
  wire.CapacityWanted,
  { waiting: count, wanted: list(wantedHosts, MAX_WANTED_SHAPES), atMs: whole },
  { rule: ofServices(MANY) },
);
export type CapacityWantedEvent = PlainOf<typeof capacityWantedCodec>;
