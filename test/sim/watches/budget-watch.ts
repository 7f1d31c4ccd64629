import { requestSpecCodec } from '#libs/contracts/request-spec';
import { isAvailable } from '#libs/domain/grouping/disruption-budget';
import type { Instance } from '#libs/domain/instance';

/** Last word of the names of groups with a disruption budget, and the members that it keeps available. */
export const BUDGETED = 'budgeted';
export const LEAST_AVAILABLE = 2;

/** A conductor counts the members, then puts a disruption on record within its lease. */
const COUNTED_WITHIN_MS = 10_000;

/** Members of groups with a budget, and the disruptions of them that Berth or an operator chose. */
export class BudgetWatch {
  readonly #members = new Map<string, Map<string, Instance>>();
  /** When each became unavailable otherwise: whoever counted just before did not know. */
  readonly #lostAtMs = new Map<string, number>();

  /** The violation in a record that is written now, if any. */
  onRecord(instance: Instance, before: Instance | undefined, nowMs: number): string | undefined {
    const { uuid, projectId } = instance;
    const groupId = requestSpecCodec.decode(instance.requestSpec).group?.id ?? '';
    if (!groupId.endsWith(BUDGETED)) return undefined;
    const key = `${projectId} ${groupId}`;
    const members = this.#members.get(key) ?? new Map<string, Instance>();
    this.#members.set(key, members.set(uuid, instance));
    if (before === undefined || !isAvailable(before) || isAvailable(instance)) return undefined;
    if (!isChosen(instance)) {
      this.#lostAtMs.set(uuid, nowMs);
      return undefined;
    }
    const wasCounted = (one: Instance) => {
      return isAvailable(one) || nowMs - (this.#lostAtMs.get(one.uuid) ?? -Infinity) < COUNTED_WITHIN_MS;
    };
    const counted = [...members.values()].filter((one) => one.uuid !== uuid && wasCounted(one)).length;
    if (counted >= LEAST_AVAILABLE) return undefined;
    return `${uuid} is ${instance.state}, and ${counted} of ${key} are available`;
  }
}

/** True for a cold migration and for what makes room. */
function isChosen({ state, migration, fault }: Instance): boolean {
  if (state === 'resize') return migration?.kind === 'migrate';
  const makesRoom = fault?.reason === 'preempted' || fault?.reason === 'reclaimed';
  return state === 'preempting' || (state === 'deleting' && makesRoom);
}
