/** `1 host`, `2 hosts`; `write` formats the number. */
export function counted(count: number, noun: string, write: (count: number) => string = String): string {
  return `${write(count)} ${noun}${count === 1 ? '' : 's'}`;
}
