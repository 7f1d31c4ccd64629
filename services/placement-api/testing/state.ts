import type { Answered } from './answered';
import type { Api } from './api';
import type { Client } from './client';

/* State that stories begin with. All of it goes through the API, as from its clients. */
export interface ProviderGiven {
  readonly name?: string;
  readonly uuid?: string;
  readonly parent?: string;
  /** A number is the total. */
  readonly inventories?: Readonly<Record<string, number | Readonly<Record<string, number>>>>;
  readonly traits?: readonly string[];
  readonly aggregates?: readonly string[];
}

/** Creates a provider with its custom traits and classes; returns its uuid. */
export async function aProvider(api: Api, given: ProviderGiven = {}): Promise<string> {
  const { uuid = api.uuid(), inventories, traits, aggregates } = given;
  const parent = given.parent === undefined ? {} : { parent_provider_uuid: given.parent };
  const path = `/resource_providers/${uuid}`;
  await must(api.post('/resource_providers', { uuid, name: given.name ?? `provider-${uuid}`, ...parent }));
  if (inventories) await giveInventories(api, uuid, inventories);
  if (traits) {
    for (const trait of traits.filter(isCustom)) await must(api.put(`/traits/${trait}`, undefined));
    await must(api.put(`${path}/traits`, { traits, ...(await guard(api, uuid)) }));
  }
  if (aggregates) await must(api.put(`${path}/aggregates`, { aggregates, ...(await guard(api, uuid)) }));
  return uuid;
}

/** Replaces all inventories of a provider. */
export async function giveInventories(
  api: Client,
  uuid: string,
  given: NonNullable<ProviderGiven['inventories']>,
): Promise<void> {
  for (const name of Object.keys(given).filter(isCustom)) await must(api.put(`/resource_classes/${name}`, undefined));
  const entries = Object.entries(given).map(([name, fields]) => [
    name,
    typeof fields === 'number' ? { total: fields } : fields,
  ]);
  const body = { inventories: Object.fromEntries(entries) as object, ...(await guard(api, uuid)) };
  await must(api.put(`/resource_providers/${uuid}/inventories`, body));
}

type Amounts = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** The body of a new consumer at the newest microversion: amounts by provider and class. */
export function consumerBody(amounts: Amounts, fields: object = {}) {
  const entries = Object.entries(amounts).map(([uuid, resources]) => [uuid, { resources }]);
  return {
    allocations: Object.fromEntries(entries) as object,
    project_id: 'project-1',
    user_id: 'user-1',
    consumer_generation: null,
    consumer_type: 'INSTANCE',
    ...fields,
  };
}

/** Creates a consumer with these allocations; returns its uuid. */
export async function aConsumer(api: Api, amounts: Amounts, fields: object = {}): Promise<string> {
  const uuid = api.uuid();
  await must(api.put(`/allocations/${uuid}`, consumerBody(amounts, fields)));
  return uuid;
}

/** The present generation of a provider. */
export async function generationOf(api: Client, uuid: string): Promise<number> {
  const { body } = await must(api.get(`/resource_providers/${uuid}`));
  return (body as { generation: number }).generation;
}

/** The guard of a write to a provider. */
export async function guard(api: Client, uuid: string): Promise<{ readonly resource_provider_generation: number }> {
  return { resource_provider_generation: await generationOf(api, uuid) };
}

/** Fails when the answer is not a success. */
export async function must(answering: Promise<Answered>): Promise<Answered> {
  const answered = await answering;
  if (answered.status < 300) return answered;
  throw new Error(`a story can't begin: ${answered.status} ${answered.text}`);
}

/** The error in an error document. */
export interface ErrorTold {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly code?: string;
  readonly request_id: string;
  readonly max_version?: string;
  readonly min_version?: string;
}

/** The detail of an answer's error. */
export function errorOf({ status, text, body }: Answered): ErrorTold {
  const [error] = (body as { errors?: readonly ErrorTold[] } | undefined)?.errors ?? [];
  if (!error) throw new Error(`no error document, but ${status} ${text}`);
  return error;
}

function isCustom(name: string): boolean {
  return name.startsWith('CUSTOM_');
}
