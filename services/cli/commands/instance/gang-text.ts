import type { InstanceView } from '#libs/contracts/instance';

/** A gang's rule, and what a loss means to it. */
export function gangInWords({
  minCount,
  gangSize,
  onLoss,
}: Pick<InstanceView, 'minCount' | 'gangSize' | 'onLoss'>): string {
  const after = { restore: '; lost members are built again', end: '; it ends once losses bring it below that' };
  return `${minCount} of ${gangSize} must become ACTIVE${onLoss ? after[onLoss] : ''}`;
}
