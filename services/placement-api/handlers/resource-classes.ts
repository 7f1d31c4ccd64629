import { isStandardResourceClass } from '#libs/domain/standard-names';
import { badRequest, HttpError } from '../http/http-error';
import { type Answer, type ApiRequest, newest } from '../http/request';
import { whyInvalid } from '../http/validate';
import type { Placement } from '../placement';
import { customClass } from '../schemas/names';
import { createName, requireCommitted } from './store-results';

/** GET /resource_classes */
export async function listClasses(_request: ApiRequest, placement: Placement): Promise<Answer> {
  const classes = (await placement.now()).resourceClasses();
  return {
    status: 200,
    body: { resource_classes: classes.map(({ name }) => classBody(name, placement)) },
    lastModifiedMs: newest(classes.map(({ createdAtMs }) => createdAtMs)),
  };
}

/** GET /resource_classes/{name} */
export async function getClass({ params }: ApiRequest, placement: Placement): Promise<Answer> {
  const { name, createdAtMs } = await requireClass(placement, params.name);
  return { status: 200, body: classBody(name, placement), lastModifiedMs: createdAtMs || 'now' };
}

/** POST /resource_classes */
export async function createClass({ body }: ApiRequest, placement: Placement): Promise<Answer> {
  const { name } = body() as { name: string };
  if (await createName(placement, 'resource_class', name)) return { status: 201, location: locationOf(name) };
  throw new HttpError(409, `Conflicting resource class already exists: ${name}`);
}

/** PUT /resource_classes/{name}: renames it until 1.6, makes sure that it exists since 1.7. */
export async function putClass(request: ApiRequest, placement: Placement): Promise<Answer> {
  const name = request.params.name;
  if (request.version < 7) return renameClass(name, (request.body() as { name: string }).name, placement);
  const invalid = whyInvalid({ name }, customClass);
  if (invalid !== undefined) throw badRequest(`JSON does not validate: ${invalid}`);
  return { status: (await createName(placement, 'resource_class', name)) ? 201 : 204, location: locationOf(name) };
}

/** DELETE /resource_classes/{name} */
export async function deleteClass({ params: { name } }: ApiRequest, placement: Placement): Promise<Answer> {
  const refusal = 'Error in delete resource class: ';
  if (isStandardResourceClass(name)) throw badRequest(`${refusal}Cannot delete standard resource class ${name}.`);
  const result = await placement.commit({ kind: 'delete_name', catalogue: 'resource_class', name });
  requireCommitted(result, {
    not_found: () => noSuchClass(name),
    in_use: () => new HttpError(409, `${refusal}Cannot delete resource class ${name}. Class is in use in inventory.`),
  });
  return { status: 204 };
}

async function renameClass(name: string, newName: string, placement: Placement): Promise<Answer> {
  await requireClass(placement, name);
  if (isStandardResourceClass(name)) throw badRequest(`Cannot update standard resource class ${name}`);
  if (newName === name) return { status: 200, body: classBody(name, placement) };
  const result = await placement.commit({ kind: 'rename_class', name, newName });
  requireCommitted(result, {
    exists: () => new HttpError(409, `Resource class already exists: ${newName}`),
    not_found: () => noSuchClass(name),
  });
  return { status: 200, body: classBody(newName, placement) };
}

async function requireClass(placement: Placement, name: string): Promise<{ name: string; createdAtMs: number }> {
  const found = (await placement.now()).resourceClasses().find((known) => known.name === name);
  if (found) return found;
  throw noSuchClass(name);
}

function noSuchClass(name: string): HttpError {
  return new HttpError(404, `No such resource class ${name}.`);
}

function locationOf(name: string): string {
  return `/resource_classes/${name}`;
}

function classBody(name: string, { config }: Placement) {
  return { name, links: [{ rel: 'self', href: config.pathPrefix + locationOf(name) }] };
}
