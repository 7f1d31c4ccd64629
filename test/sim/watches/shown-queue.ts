import type { InstanceView } from '#libs/contracts/instance';

/** The violation in an order of waiting instances as it is shown, if any: of one priority the lowest number comes first. */
export function wrongOrder(views: readonly InstanceView[]): string | undefined {
  const shown = views.filter(({ waiting }) => (waiting?.place ?? 0) > 0);
  const inOrder = shown.toSorted((a, b) => placeOf(a) - placeOf(b));
  for (const [n, view] of inOrder.entries()) {
    const wrong = wrongNumber(view);
    if (wrong !== undefined) return wrong;
    const next = inOrder[n + 1];
    if (next && isWronglyBefore(view, next)) {
      return `${view.uuid} ${describe(view)} stands before ${next.uuid} ${describe(next)}`;
    }
  }
  return undefined;
}

function placeOf({ waiting }: InstanceView): number {
  return waiting?.place ?? 0;
}

function priorityOf({ admission }: InstanceView): number {
  return admission?.priority ?? 0;
}

function isWronglyBefore(view: InstanceView, next: InstanceView): boolean {
  if (priorityOf(view) !== priorityOf(next)) return priorityOf(view) < priorityOf(next);
  const [one, other] = [view.waiting?.standing, next.waiting?.standing];
  return one !== undefined && other !== undefined && one.number > other.number;
}

/** The number must be what its parts make. */
function wrongNumber({ uuid, waiting }: InstanceView): string | undefined {
  if (waiting?.standing === undefined) return undefined;
  const { number, now, lately, weight, ahead, patience } = waiting.standing;
  const made = (patience * (now + lately) + ahead) / weight;
  const isSound = [now, lately, ahead].every((share) => share >= 0) && patience >= 0 && patience <= 1;
  return isSound && Math.abs(number - made) < 1e-9
    ? undefined
    : `${uuid} stands by ${JSON.stringify(waiting.standing)}`;
}

function describe(view: InstanceView): string {
  return `(priority ${priorityOf(view)}, ${view.waiting?.standing?.number})`;
}
