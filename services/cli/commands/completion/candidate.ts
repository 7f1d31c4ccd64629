/** A completion of a word, and its description. */
export type Candidate = readonly [value: string, description: string];
