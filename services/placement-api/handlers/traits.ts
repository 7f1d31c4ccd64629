import type { Provider } from '#libs/domain/provider';
import { isStandardTrait } from '#libs/domain/standard-names';
import { badRequest, HttpError } from '../http/http-error';
import { type Answer, type ApiRequest, newest } from '../http/request';
import { whyInvalid } from '../http/validate';
import type { Placement } from '../placement';
import { customTrait } from '../schemas/names';
import { createName, partOf, providerConflict, requireCommitted, requireProvider } from './store-results';

/** GET /traits */
export async function listTraits({ query }: ApiRequest, placement: Placement): Promise<Answer> {
  const name = query.last('name');
  const isNamed = name === undefined ? () => true : nameFilter(name);
  const associated = query.last('associated')?.toLowerCase();
  if (associated !== undefined && associated !== 'true' && associated !== 'false') {
    throw badRequest('The query parameter "associated" only accepts "true" or "false"');
  }
  const view = await placement.now();
  const isAssociated = (trait: string) => view.providersWithTrait(trait).size > 0;
  const traits = view
    .traits()
    .filter((trait) => isNamed(trait.name))
    .filter((trait) => associated === undefined || isAssociated(trait.name) === (associated === 'true'));
  return {
    status: 200,
    body: { traits: traits.map((trait) => trait.name) },
    lastModifiedMs: newest(traits.map(({ createdAtMs }) => createdAtMs)),
  };
}

/** GET /traits/{name} */
export async function getTrait({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const found = (await placement.now()).traits().find(({ name }) => name === params.name);
  if (found) return { status: 204, lastModifiedMs: found.createdAtMs || 'now' };
  throw noSuchTrait(params.name);
}

/** PUT /traits/{name} */
export async function putTrait({ params: { name } }: ApiRequest, placement: Placement): Promise<Answer> {
  if (whyInvalid(name, customTrait) !== undefined) {
    throw badRequest(
      'The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix "CUSTOM_" ' +
        'and use following characters: "A"-"Z", "0"-"9" and "_"',
    );
  }
  const isNew = await createName(placement, 'trait', name);
  return { status: isNew ? 201 : 204, location: `/traits/${name}`, lastModifiedMs: 'now' };
}

/** DELETE /traits/{name} */
export async function deleteTrait({ params: { name } }: ApiRequest, placement: Placement): Promise<Answer> {
  if (isStandardTrait(name)) throw badRequest(`Cannot delete standard trait ${name}.`);
  const result = await placement.commit({ kind: 'delete_name', catalogue: 'trait', name });
  requireCommitted(result, {
    not_found: () => noSuchTrait(name),
    in_use: () => new HttpError(409, `The trait ${name} is in use by a resource provider.`),
  });
  return { status: 204 };
}

/** GET /resource_providers/{uuid}/traits */
export async function getProviderTraits({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  return show(requireProvider(await placement.now(), params.uuid));
}

/** PUT /resource_providers/{uuid}/traits */
export async function putProviderTraits(request: ApiRequest, placement: Placement): Promise<Answer> {
  const body = request.body() as { traits: string[]; resource_provider_generation: number };
  const view = await placement.now();
  const provider = requireProvider(view, request.params.uuid);
  if (provider.generation !== body.resource_provider_generation) throw providerConflict();
  const traits = [...new Set(body.traits)];
  const unknown = traits.filter((trait) => !view.hasTrait(trait));
  if (unknown.length > 0) throw unknownTraits(unknown.sort().join(', '));
  await writeTraits(placement, provider, traits, provider.generation);
  return show(requireProvider(placement.recent, provider.uuid));
}

/** DELETE /resource_providers/{uuid}/traits */
export async function deleteProviderTraits({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  await writeTraits(placement, requireProvider(await placement.now(), params.uuid), [], undefined);
  return { status: 204 };
}

/** Like in Placement, writing the present traits again does not raise the generation. */
async function writeTraits(
  placement: Placement,
  { uuid: providerUuid, traits: present }: Provider,
  traits: readonly string[],
  generation: number | undefined,
): Promise<void> {
  if (traits.length === present.length && traits.every((trait) => present.includes(trait))) return;
  const result = await placement.commit({ kind: 'write_traits', providerUuid, generation, traits });
  requireCommitted(result, {
    generation: providerConflict,
    not_found: ({ subject, key }) => (subject === 'trait' ? unknownTraits(key) : undefined),
  });
}

function nameFilter(value: string): (trait: string) => boolean {
  const [, how, what = ''] = /^([^:]*):(.*)$/s.exec(value) ?? [];
  if (how === undefined) {
    throw badRequest(
      'Badly formatted name parameter. Expected name query string parameter in form: ' +
        `?name=[in|startswith]:[name1,name2|prefix]. Got: "${value}"`,
    );
  }
  const names = new Set(what.split(','));
  if (how === 'in') return (trait) => names.has(trait);
  return how === 'startswith' ? (trait) => trait.startsWith(what) : () => true;
}

function unknownTraits(names: string): HttpError {
  return badRequest(`No such trait ${names}`);
}

function noSuchTrait(name: string): HttpError {
  return new HttpError(404, `No such trait(s): ${name}.`);
}

function show(provider: Provider): Answer {
  return partOf(provider, { traits: provider.traits });
}
