import type { OperateInstanceRequest } from '#libs/contracts/operations';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import type { Instance } from '#libs/domain/instance';
import type { MigrationKind } from '#libs/domain/moves/migration';
import { fillInFlavor } from '#libs/fleet-settings/fill-in-flavor';
import type { Conductor } from '../conductor';
import type { WantedMove } from '../observation';

/** A move's request, as the record keeps it. */
type Asked = Pick<OperateInstanceRequest, 'resizeTo' | 'targetHost' | 'confirmAfterMs'>;

/** A year. */
const MAX_CONFIRM_AFTER_MS = 31_536_000_000;

/**
 * A move as it is asked for: a resize to the resources of a flavor, or to some that are spelled out, with all else as the instance was
 * asked for; a migration to a host, or to any.
 *
 * @throws BerthError `invalid_argument / missing_field` for a resize to nothing, `/ not_for_this` for what another operation has,
 *   `/ out_of_range`, and for extra specs that are not understood; `not_found / no_such_flavor`, `/ no_such_host`;
 *   `failed_precondition / same_host` for a migration to where it is.
 */
export async function wantedMove(
  c: Conductor,
  kind: MigrationKind,
  { resizeTo, targetHost = '', confirmAfterMs = 0 }: Asked,
  record: Instance,
): Promise<WantedMove> {
  if (confirmAfterMs > MAX_CONFIRM_AFTER_MS) {
    const message = `confirm_after_ms may be at most ${MAX_CONFIRM_AFTER_MS}`;
    throw invalidArgument('out_of_range', message, 'confirm_after_ms');
  }
  const confirm = { confirmAfterMs: confirmAfterMs || c.config.confirmAfterMs };
  if (kind === 'resize') {
    if (targetHost !== '') throw notFor('target_host', 'of migrations');
    return { kind, requestSpec: await resized(c, resizeTo, record), targetHost, ...confirm };
  }
  if (resizeTo) throw notFor('resize_to', 'of a resize');
  if (targetHost !== '') await requireTarget(c, targetHost, record);
  return { kind, requestSpec: record.requestSpec, targetHost, ...confirm };
}

/** The resized spec: constraints on the host stay; resources and how they are claimed are new. */
async function resized(c: Conductor, to: Asked['resizeTo'], record: Instance): Promise<Uint8Array> {
  if (to === undefined) {
    throw invalidArgument('missing_field', 'resize_to is missing: name a flavor, or say the resources', 'resize_to');
  }
  const { flavor, resources, extraSpecs, preferredResources } = to;
  const spec = { ...requestSpecCodec.decode(record.requestSpec), flavor, resources, extraSpecs, preferredResources };
  const encoded = requestSpecCodec.encode(spec);
  if (flavor === undefined) resolveSpec(spec, 'resize_to');
  return flavor === undefined ? encoded : fillInFlavor(c, encoded, flavor.name);
}

async function requireTarget(c: Conductor, host: string, record: Instance): Promise<void> {
  if (host === record.host) {
    throw new BerthError('failed_precondition', 'same_host', `instance ${record.uuid} is on ${host} already`);
  }
  const [row] = await c.placement.hosts([host]);
  if (row === undefined) throw new BerthError('not_found', 'no_such_host', `there is no host ${host}`);
}

function notFor(field: string, whose: string): BerthError {
  return invalidArgument('not_for_this', `${field} is ${whose}: leave it out`, field);
}

/** The refusal of an operation on an instance whose confirmed move still has something to destroy; undefined for any other. */
export function moveNotFinished({ uuid, host, migration }: Instance, operation: string): BerthError | undefined {
  if (migration?.phase !== 'confirming') return undefined;
  const source = migration.source.host;
  const message = `instance ${uuid} runs on ${host}, and its move from ${source} is being finished: until ${source} has destroyed what it kept, it cannot ${operation}; try again in a moment`;
  return new BerthError('failed_precondition', 'move_not_finished', message, { details: { instance_uuid: uuid } });
}
