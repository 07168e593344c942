/** A number with its noun, for people: `1 removal`, `8 removals`. */
export function counted(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}
