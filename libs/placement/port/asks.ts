/** A question of a scheduler to a host, until somebody waits for no answer any more. */
export interface Ask {
  readonly id: string;
  readonly host: string;
  /** The instance that is to be built there, for people. */
  readonly instanceUuid: string;
  readonly ttlMs: number;
}

/** Questions to hosts and their answers, by which a scheduler hears what another took. Not a commit. */
export interface AskStore {
  openAsk(ask: Ask, atMs: number): Promise<void>;

  /** Notes the answer of the host that was asked; the first stands. False when nobody asks it that, or no more. */
  answerAsk(id: string, host: string, answer: string, atMs: number): Promise<boolean>;

  /** The answer, undefined as long as there is none. */
  askAnswer(id: string, atMs: number): Promise<string | undefined>;
}

/** Questions that are open at once in a store in memory; beyond that the oldest go. */
export const MAX_ASKS = 100_000;
