import type { Attempt } from '#libs/domain/instance';
import type { ClaimedHost, Fault, RunningAt } from './observation';

/** What is to be done next. One executor does it (`steps/perform.ts`) and looks again with what came of it. */
export type Step =
  /** Nothing, and why. */
  | { readonly kind: 'none'; readonly because: NoneReason }
  /** Nothing before the deadline, unless something is observed. */
  | { readonly kind: 'wait'; readonly untilMs: number | undefined }
  /** Read the claim: the next step depends on it. */
  | { readonly kind: 'read_claim' }
  /** Ask a scheduler, for all instances of the request that need it. */
  | { readonly kind: 'select_destinations' }
  /** Record the attempt, send the order. */
  | { readonly kind: 'dispatch_build'; readonly target: ClaimedHost }
  /** Send the order again: agents know the attempt. */
  | { readonly kind: 'order_again'; readonly finding?: Finding }
  /** Record how the attempt ended; from then on its host's answers are late. */
  | { readonly kind: 'conclude_attempt'; readonly outcome: Attempt['outcome']; readonly why: string }
  /** Claim the next alternate with its allocation request. */
  | { readonly kind: 'claim_next_host' }
  | { readonly kind: 'record_active' }
  /** Release the claim that is named, then record ERROR. */
  | {
      readonly kind: 'record_error';
      readonly fault: Fault;
      readonly claimToken: number | undefined;
      readonly passedOver: readonly Attempt[];
      readonly finding?: Finding;
    }
  | { readonly kind: 'record_deleting' }
  /** Tell a host to end what it has of the instance, up to an attempt (0: any); `reports`: and to say so. */
  | {
      readonly kind: 'destroy';
      readonly host: string;
      readonly attempt: number;
      readonly reports: boolean;
      readonly finding?: Finding;
    }
  /** Release what is held, then record DELETED. Unconfirmed: no host said that it is destroyed. */
  | { readonly kind: 'close_record'; readonly isConfirmed: boolean }
  | { readonly kind: 'release'; readonly claimToken: number; readonly finding?: Finding }
  /** Make a record for an instance that runs and has none. */
  | { readonly kind: 'adopt'; readonly at: RunningAt; readonly finding: Finding }
  /** Claim what the instance uses where it runs, whether it fits or not. */
  | { readonly kind: 'claim_again'; readonly at: RunningAt; readonly finding: Finding }
  /** Write the token of the claim that is held into the record. */
  | { readonly kind: 'correct_token'; readonly claimToken: number; readonly finding: Finding };

/** What a repair is counted as (`berth_audit_mended_total`). */
export type Finding =
  | 'adopted'
  | 'claimed_again'
  | 'destroyed'
  | 'lost'
  | 'ordered_again'
  | 'orphan'
  | 'other_claim'
  | 'claim_missing';

export type NoneReason =
  | 'at rest'
  | 'no record'
  | 'late report'
  | 'somebody else goes on with it'
  | 'its order still waits'
  | 'its report will follow'
  | 'record and claim agree';
