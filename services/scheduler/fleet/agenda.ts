/**
 * Which hosts must be read again when, because time alone changes them. Kept in steps of time, so that adding and taking
 * cost the same however many there are.
 */
export class Agenda {
  private readonly byStep = new Map<number, Set<string>>();
  private earliestStep = Number.POSITIVE_INFINITY;

  add(rootUuid: string, atMs: number): void {
    const step = Math.ceil(atMs / STEP_MS);
    const due = this.byStep.get(step) ?? new Set();
    this.byStep.set(step, due.add(rootUuid));
    this.earliestStep = Math.min(this.earliestStep, step);
  }

  /** Those that are due by now; they are on the agenda no more. */
  takeDue(nowMs: number): string[] {
    if (this.earliestStep * STEP_MS > nowMs) return [];
    const due: string[] = [];
    this.earliestStep = Number.POSITIVE_INFINITY;
    for (const [step, roots] of this.byStep) {
      if (step * STEP_MS > nowMs) {
        this.earliestStep = Math.min(this.earliestStep, step);
        continue;
      }
      due.push(...roots);
      this.byStep.delete(step);
    }
    return due;
  }
}

const STEP_MS = 50;
