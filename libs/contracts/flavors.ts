import { berth } from '#generated/berth';
import { isFlavorName } from '../domain/names';
import { amounts, badName, keyWord, missing, name, text, whole } from './checks';
import { ruled } from './field-rules';
import { list, map, oneOf, orEmpty, present } from './fields';
import { MAX_NAMES, MAX_PAGE, MAX_PROJECT_ID_BYTES } from './limits';
import { message, type PlainOf } from './message';
import { FEW, KIB, MANY, ofServices, ofTenants } from './message-rules';

const wire = berth.flavor.v1;

const flavorName = ruled(
  { required: true, maxBytes: MAX_PROJECT_ID_BYTES, inRoutingKey: true, format: 'flavor_name' },
  (value: string, path: string): string => {
    if (value === '') throw missing(path);
    if (isFlavorName(value)) return keyWord(value, path);
    throw badName(path, value, 'at most 100 letters, digits, dots, dashes and underscores');
  },
);

const content = { description: text, resources: amounts, extraSpecs: map(text) };

const flavor = message(wire.Flavor, {
  name: flavorName,
  version: whole,
  ...content,
  createdAtMs: whole,
  updatedAtMs: whole,
});

/** To `rpc.conductor`: adds a flavor. */
export const createFlavorMethod = {
  request: message(wire.CreateFlavorRequest, { name: flavorName, ...content }, { rule: ofServices(MANY) }),
  response: message(wire.CreateFlavorResponse, { flavor }),
};
export type CreateFlavorRequest = PlainOf<typeof createFlavorMethod.request>;

/** To `rpc.conductor`: one flavor, or all. */
export const listFlavorsMethod = {
  request: message(wire.ListFlavorsRequest, { name: orEmpty(flavorName) }, { rule: ofTenants(4 * KIB, FEW) }),
  response: message(wire.ListFlavorsResponse, { flavors: list(flavor, MAX_PAGE) }),
};
export type ListFlavorsRequest = PlainOf<typeof listFlavorsMethod.request>;
export type ListFlavorsResponse = PlainOf<typeof listFlavorsMethod.response>;

/** To `rpc.conductor`: changes a flavor's extra specs or description. */
export const updateFlavorMethod = {
  request: message(
    wire.UpdateFlavorRequest,
    {
      name: flavorName,
      /** 0: whichever there is. */
      version: whole,
      description: present(text),
      setExtraSpecs: map(text),
      unsetExtraSpecs: list(name, MAX_NAMES),
    },
    { rule: ofServices(MANY) },
  ),
  response: message(wire.UpdateFlavorResponse, { flavor }),
};
export type UpdateFlavorRequest = PlainOf<typeof updateFlavorMethod.request>;

/** To `rpc.conductor`: takes a flavor away; instances built from it stay. */
export const deleteFlavorMethod = {
  request: message(wire.DeleteFlavorRequest, { name: flavorName }, { rule: ofServices(FEW) }),
  response: message(wire.DeleteFlavorResponse, { flavor }),
};

/** As an event: a flavor was changed. */
export const flavorEventCodec = message(
  wire.FlavorEvent,
  { change: oneOf(['created', 'updated', 'deleted']), flavor },
  { rule: ofServices(MANY) },
);
export type FlavorEvent = PlainOf<typeof flavorEventCodec>;
