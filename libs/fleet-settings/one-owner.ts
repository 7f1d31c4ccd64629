import type { BuildRequest } from '../contracts/conductor';
import { invalidArgument } from '../domain/errors';
import { readSpec } from './fill-in-flavor';

/**
 * All kinds of a gang belong to one project and user: its quota, its events and its rights are theirs.
 *
 * @throws BerthError `invalid_argument / several_owners`
 */
export function requireOneOwner({ requestSpec, furtherMembers = [] }: BuildRequest): void {
  const first = readSpec(requestSpec);
  for (const [n, further] of furtherMembers.entries()) {
    const { projectId, userId } = readSpec(further.requestSpec);
    if (projectId === first.projectId && userId === first.userId) continue;
    const path = `further_members[${n}].request_spec`;
    throw invalidArgument('several_owners', `${path} names another project or user than request_spec`, path);
  }
}
