/** The forms of what may be taken to have been otherwise when a decision was made (`parseWhatIf`). */
export const WHAT_IF_FORMS =
  'weight=WEIGHER:N, without-filter=NAME, host-up=NAME, host-down=NAME, or a scheduler setting NAME=VALUE';
