/**
 * Which hosts must be read again when, because time alone changes them: each once, at the earliest time that it was put
 * down for. Kept in steps of time, so that adding and taking cost the same however many there are.
 */
export class Agenda {
  private readonly byStep = new Map<number, string[]>();
  private readonly stepOf = new Map<string, number>();
  private earliestStep = Number.POSITIVE_INFINITY;

  add(rootUuid: string, atMs: number): void {
    const step = Math.ceil(atMs / STEP_MS);
    if ((this.stepOf.get(rootUuid) ?? Number.POSITIVE_INFINITY) <= step) return;
    this.stepOf.set(rootUuid, step);
    const roots = this.byStep.get(step) ?? [];
    roots.push(rootUuid);
    this.byStep.set(step, roots);
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
      for (const root of roots) {
        // It was put down for an earlier time since.
        if (this.stepOf.get(root) !== step) continue;
        this.stepOf.delete(root);
        due.push(root);
      }
      this.byStep.delete(step);
    }
    return due;
  }
}

const STEP_MS = 50;
