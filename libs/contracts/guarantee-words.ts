import type { BrokenLossView, GuaranteeStatus, HeadroomView } from './guarantees';

/** The state of a guarantee, as people read it. */
export function guaranteeState({ losses, kept, unread, hasTooManyLosses }: GuaranteeStatus): string {
  if (hasTooManyLosses) return 'not kept: too many losses';
  if (losses === 0) return 'nothing to lose';
  if (kept < losses) return 'BROKEN';
  return unread === 0 ? 'holds' : `reads ${unread} ${unread === 1 ? 'instance' : 'instances'}`;
}

/** The hosts and instances that a guarantee is about. */
export function guaranteeScope({ guarantee: { aggregate, minPriority } }: GuaranteeStatus): string {
  const hosts = aggregate === '' ? 'all hosts' : aggregate;
  return minPriority === 0 ? hosts : `${hosts}, priority >= ${minPriority}`;
}

/** A loss that is not taken in, and the least that would help. */
export function brokenLossText({ domains, unplaced, nearestHost, lacks, isCertain }: BrokenLossView): string {
  const amounts = Object.entries(lacks).map(([name, amount]) => `${amount} ${name}`);
  const help = nearestHost === '' ? '' : `; ${amounts.join(' and ')} more free on ${nearestHost} would do for one`;
  const found = isCertain ? 'have no place' : 'have found no place within the steps of the search';
  return `if ${domains.join(' and ')} were lost, ${unplaced} ${unplaced === 1 ? 'instance' : 'instances'} would ${found}${help}`;
}

/** The number of instances of a flavor that still fit under all guarantees, and what breaks first: a line each. */
export function headroomLines({ fits, isAtLeast, guarantee, breaksFirst }: HeadroomView, flavor: string): string[] {
  const fit = `${isAtLeast ? 'at least ' : ''}${fits} more of ${flavor} ${fits === 1 ? 'fits' : 'fit'}`;
  return breaksFirst ? [fit, `one more, and ${guarantee} breaks first: ${brokenLossText(breaksFirst)}`] : [fit];
}
