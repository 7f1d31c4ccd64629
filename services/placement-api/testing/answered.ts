export interface Answered {
  readonly status: number;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  /** The text as JSON; undefined for other texts. */
  readonly body: unknown;
}
