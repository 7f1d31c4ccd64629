/** Orders names as people do: host-2 before host-10. */
export const natural = new Intl.Collator('en', { numeric: true });
