import { type Ask, type AskStore, MAX_ASKS } from '../port/asks';
import { KeptUntil } from './kept-until';

interface Asked {
  readonly host: string;
  answer?: string;
}

/** The questions of a store in memory. */
export class MemoryAsks implements AskStore {
  readonly #asked = new KeptUntil<Asked>();

  async openAsk({ id, host, ttlMs }: Ask, atMs: number): Promise<void> {
    this.#asked.keep([[id, { host }]], { atMs, ttlMs, most: MAX_ASKS });
  }

  async answerAsk(id: string, host: string, answer: string, atMs: number): Promise<boolean> {
    const asked = this.#asked.of(id, atMs)?.content;
    if (asked === undefined || asked.host !== host || asked.answer !== undefined) return false;
    asked.answer = answer;
    return true;
  }

  async askAnswer(id: string, atMs: number): Promise<string | undefined> {
    return this.#asked.of(id, atMs)?.content.answer;
  }
}
