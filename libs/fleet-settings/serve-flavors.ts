import type { Bus } from '../bus/port';
import { answer } from '../bus/typed-calls';
import {
  type CreateFlavorRequest,
  createFlavorMethod,
  deleteFlavorMethod,
  type FlavorEvent,
  flavorEventCodec,
  listFlavorsMethod,
  type UpdateFlavorRequest,
  updateFlavorMethod,
} from '../contracts/flavors';
import { flavorTopic } from '../contracts/queues';
import { requireSelectors } from '../devices/require-selectors';
import type { Clock } from '../domain/clock';
import { BerthError, invalidArgument } from '../domain/errors';
import { resolveSpec } from '../domain/extra-specs/resolve';
import type { Flavor, FlavorContent } from '../domain/flavor';
import { requestSpec } from '../domain/request-spec';
import { type FlavorStore, MAX_FLAVORS } from '../instances/flavor-store';
import type { Log } from '../runtime/log';

/** Dependencies of the calls about flavors. */
export interface FlavorDeps {
  readonly flavors: FlavorStore;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

/** The calls about flavors: everybody may list them, operators change them. */
export function flavorCalls(c: FlavorDeps) {
  return {
    ...answer(listFlavorsMethod, async ({ name }) => ({
      flavors: name === '' ? await c.flavors.listFlavors() : [await requireFlavor(c, name)],
    })),
    ...answer(createFlavorMethod, async (request) => {
      return { flavor: await createFlavor(c, request) };
    }),
    ...answer(updateFlavorMethod, async (request) => {
      return { flavor: await updateFlavor(c, request) };
    }),
    ...answer(deleteFlavorMethod, async ({ name }) => {
      const flavor = await c.flavors.deleteFlavor(name);
      if (!flavor) throw noSuchFlavor(name);
      announce(c, { change: 'deleted', flavor });
      return { flavor };
    }),
  };
}

/** @throws BerthError `not_found / no_such_flavor`. */
export async function requireFlavor(c: Pick<FlavorDeps, 'flavors'>, name: string): Promise<Flavor> {
  const flavor = await c.flavors.getFlavor(name);
  if (!flavor) throw noSuchFlavor(name);
  return flavor;
}

/**
 * @throws BerthError `already_exists / flavor_exists` when there is another of the name; `resource_exhausted /
 *   too_many_flavors`; `invalid_argument` for extra specs that are not understood, and a flavor that takes nothing.
 */
async function createFlavor(c: FlavorDeps, { name, ...content }: CreateFlavorRequest): Promise<Flavor> {
  requireContent(content);
  const nowMs = c.clock.now();
  const written = await c.flavors.writeFlavor({ name, ...content, createdAtMs: nowMs, updatedAtMs: nowMs }, undefined);
  switch (written.kind) {
    case 'written':
      announce(c, { change: 'created', flavor: written.flavor });
      return written.flavor;
    case 'other':
      // The call came twice.
      if (written.flavor && isSameContent(written.flavor, content)) return written.flavor;
      throw new BerthError('already_exists', 'flavor_exists', `there is a flavor '${name}'; choose another name`);
    case 'full':
      throw new BerthError(
        'resource_exhausted',
        'too_many_flavors',
        `the limit of ${MAX_FLAVORS} flavors is reached; delete one first`,
      );
  }
}

/** Tries of a change while others change the flavor at the same time. */
const ATTEMPTS = 10;

/**
 * @throws BerthError `not_found / no_such_flavor`; `aborted / flavor_changed` when it has another version than the one to
 *   be changed; `invalid_argument` as {@link createFlavor}.
 */
async function updateFlavor(c: FlavorDeps, request: UpdateFlavorRequest): Promise<Flavor> {
  const { name, version } = request;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const flavor = await requireFlavor(c, name);
    const content = changed(flavor, request);
    // Also when the call came twice.
    if (isSameContent(flavor, content)) return flavor;
    if (version !== 0 && version !== flavor.version) break;
    requireContent(content);
    const written = await c.flavors.writeFlavor({ ...flavor, ...content, updatedAtMs: c.clock.now() }, flavor.version);
    if (written.kind !== 'written') continue;
    announce(c, { change: 'updated', flavor: written.flavor });
    return written.flavor;
  }
  throw new BerthError(
    'aborted',
    'flavor_changed',
    `flavor '${name}' was changed meanwhile; look at it and decide again`,
  );
}

function changed(
  { description, resources, extraSpecs }: Flavor,
  { description: newDescription = description, setExtraSpecs, unsetExtraSpecs }: UpdateFlavorRequest,
): FlavorContent {
  const kept = Object.entries(extraSpecs).filter(([key]) => !unsetExtraSpecs.includes(key));
  return { description: newDescription, resources, extraSpecs: { ...Object.fromEntries(kept), ...setExtraSpecs } };
}

/** Bytes of a flavor's texts, so that all flavors fit into one answer. */
const MAX_FLAVOR_BYTES = 8_192;

/** Requires a flavor to be understood now, not when somebody builds from it. */
function requireContent(content: FlavorContent): void {
  if (Buffer.byteLength(JSON.stringify(content)) > MAX_FLAVOR_BYTES) {
    throw invalidArgument('too_long', `a flavor may have at most ${MAX_FLAVOR_BYTES} bytes`, 'extra_specs');
  }
  const { resources, extraSpecs } = content;
  const spec = resolveSpec(requestSpec(resources, { extraSpecs, projectId: '-', userId: '-' }), 'flavor');
  requireSelectors(spec, 'flavor', 0);
}

function isSameContent(a: FlavorContent, b: FlavorContent): boolean {
  const text = ({ description, resources, extraSpecs }: FlavorContent) =>
    JSON.stringify([description, sorted(resources), sorted(extraSpecs)]);
  return text(a) === text(b);
}

function sorted(map: Readonly<Record<string, unknown>>) {
  return Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** For who happens to listen: an event that is lost tells nobody anything wrong, so nothing waits for it. */
function announce(c: FlavorDeps, event: FlavorEvent): void {
  const { change, flavor } = event;
  const facts = { event: 'flavor_changed', flavor: flavor.name, version: flavor.version };
  c.log.info(facts, `flavor ${change}`);
  const message = { type: flavorEventCodec.type, body: flavorEventCodec.encode(event) };
  c.bus.publish(flavorTopic(change, flavor.name), message).catch((err: unknown) => {
    c.log.warn({ ...facts, event: 'flavor_event_lost', err }, 'flavor event not published');
  });
}

function noSuchFlavor(name: string): BerthError {
  return new BerthError('not_found', 'no_such_flavor', `there is no flavor '${name}'`, { details: { flavor: name } });
}
