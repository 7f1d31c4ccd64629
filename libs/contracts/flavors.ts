import { berth } from '#generated/berth';
import type { Flavor } from '../domain/flavor';
import { isFlavorName } from '../domain/names';
import { amounts, badName, keyWord, list, missing, name, pairs, text, whole, word } from './checks';
import { type Codec, codec, type Method, type Mutable } from './codec';
import { MAX_NAMES, MAX_PAGE } from './limits';
import type {
  CreateFlavorRequest,
  FlavorAnswer,
  FlavorEvent,
  ListFlavorsRequest,
  ListFlavorsResponse,
  UpdateFlavorRequest,
} from './messages';

const wire = berth.flavor.v1;

/** To `rpc.conductor`: adds a flavor. */
export const createFlavorMethod: Method<CreateFlavorRequest, FlavorAnswer> = {
  request: codec(
    'berth.flavor.v1.CreateFlavorRequest',
    wire.CreateFlavorRequest,
    (request) => request,
    (request) => ({ name: flavorName(request.name, 'name'), ...contentFromWire(request, '') }),
  ),
  response: answerCodec('berth.flavor.v1.CreateFlavorResponse', wire.CreateFlavorResponse),
};

/** To `rpc.conductor`: one flavor, or all. */
export const listFlavorsMethod: Method<ListFlavorsRequest, ListFlavorsResponse> = {
  request: codec(
    'berth.flavor.v1.ListFlavorsRequest',
    wire.ListFlavorsRequest,
    (request) => request,
    (request) => ({ name: request.name === '' ? '' : flavorName(request.name, 'name') }),
  ),
  response: codec(
    'berth.flavor.v1.ListFlavorsResponse',
    wire.ListFlavorsResponse,
    (response) => ({ flavors: response.flavors as Mutable<Flavor>[] }),
    (response) => ({ flavors: list(response.flavors, 'flavors', MAX_PAGE, flavorFromWire) }),
  ),
};

/** To `rpc.conductor`: changes a flavor's extra specs or description. */
export const updateFlavorMethod: Method<UpdateFlavorRequest, FlavorAnswer> = {
  request: codec(
    'berth.flavor.v1.UpdateFlavorRequest',
    wire.UpdateFlavorRequest,
    ({ description = null, unsetExtraSpecs, ...request }) => ({
      ...request,
      description,
      unsetExtraSpecs: unsetExtraSpecs as string[],
    }),
    (request) => ({
      name: flavorName(request.name, 'name'),
      version: whole(request.version, 'version'),
      description: request.description == null ? undefined : text(request.description, 'description'),
      setExtraSpecs: pairs(request.setExtraSpecs, 'set_extra_specs', text),
      unsetExtraSpecs: list(request.unsetExtraSpecs, 'unset_extra_specs', MAX_NAMES, name),
    }),
  ),
  response: answerCodec('berth.flavor.v1.UpdateFlavorResponse', wire.UpdateFlavorResponse),
};

/** To `rpc.conductor`: takes a flavor away; instances built from it stay. */
export const deleteFlavorMethod: Method<{ readonly name: string }, FlavorAnswer> = {
  request: codec(
    'berth.flavor.v1.DeleteFlavorRequest',
    wire.DeleteFlavorRequest,
    (request) => request,
    (request) => ({ name: flavorName(request.name, 'name') }),
  ),
  response: answerCodec('berth.flavor.v1.DeleteFlavorResponse', wire.DeleteFlavorResponse),
};

/** As an event: a flavor was changed. */
export const flavorEventCodec: Codec<FlavorEvent> = codec(
  'berth.flavor.v1.FlavorEvent',
  wire.FlavorEvent,
  ({ change, flavor }) => ({ change, flavor: flavor as Mutable<Flavor> }),
  ({ change, flavor }) => ({
    change: word(change, ['created', 'updated', 'deleted'], 'change'),
    flavor: flavorFromWire(flavor, 'flavor'),
  }),
);

function answerCodec(type: string, message: typeof wire.CreateFlavorResponse): Codec<FlavorAnswer> {
  return codec(
    type,
    message,
    ({ flavor }: FlavorAnswer) => ({ flavor: flavor as Mutable<Flavor> }),
    ({ flavor }) => ({ flavor: flavorFromWire(flavor, 'flavor') }),
  );
}

function flavorFromWire(value: berth.flavor.v1.IFlavor | null | undefined, field: string): Flavor {
  if (!value) throw missing(field);
  const flavor = value as berth.flavor.v1.Flavor;
  return {
    name: flavorName(flavor.name, `${field}.name`),
    version: whole(flavor.version, `${field}.version`),
    ...contentFromWire(flavor, `${field}.`),
    createdAtMs: whole(flavor.createdAtMs, `${field}.created_at_ms`),
    updatedAtMs: whole(flavor.updatedAtMs, `${field}.updated_at_ms`),
  };
}

function contentFromWire(
  { description, resources, extraSpecs }: Pick<berth.flavor.v1.Flavor, 'description' | 'resources' | 'extraSpecs'>,
  prefix: string,
) {
  return {
    description: text(description, `${prefix}description`),
    resources: amounts(resources, `${prefix}resources`),
    extraSpecs: pairs(extraSpecs, `${prefix}extra_specs`, text),
  };
}

function flavorName(value: string, field: string): string {
  if (value === '') throw missing(field);
  if (isFlavorName(value)) return keyWord(value, field);
  throw badName(field, value, 'at most 100 letters, digits, dots, dashes and underscores');
}
