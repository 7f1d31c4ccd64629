import { name, projectId } from '#libs/contracts/checks';
import type { UpdateResourceStatsRequest } from '#libs/contracts/stats';
import { BerthError } from '#libs/domain/errors';

/** A report that can be taken, and what of it was left out. */
export interface BoundedReport {
  readonly stats: UpdateResourceStatsRequest;
  /** The first name that is too long, or no text. */
  readonly refused: BerthError | undefined;
}

/**
 * Leaves out the names of instances that are out of bounds: those of an instance which was built when there were none would
 * have the whole host's reports refused, and the host taken as down. What runs is known by its uuid, and whose it is by its
 * record.
 */
export function boundNames(stats: UpdateResourceStatsRequest): BoundedReport {
  let refused: BerthError | undefined;
  const bounded = (value: string, field: string, check: typeof name): string => {
    try {
      return check(value, field);
    } catch (thrown) {
      refused ??= BerthError.from(thrown);
      return '';
    }
  };
  const instances = stats.instances.map((instance, index) => {
    const field = `instances[${index}]`;
    return {
      ...instance,
      projectId: bounded(instance.projectId, `${field}.project_id`, projectId),
      userId: bounded(instance.userId, `${field}.user_id`, name),
      name: bounded(instance.name, `${field}.name`, name),
      groupId: bounded(instance.groupId, `${field}.group_id`, name),
    };
  });
  return { stats: refused === undefined ? stats : { ...stats, instances }, refused };
}
