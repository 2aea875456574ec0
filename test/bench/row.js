/** A row of the table: a time or a size must stay below its target, a rate above. */
export function rowOf({ value, reference, target, unit, ...rest }) {
  const ratio = value / reference
  return { ...rest, value, reference, ratio, target, unit, held: isAtMost(unit) ? ratio <= target : ratio >= target }
}

export const isAtMost = (unit) => unit === 'ms' || unit === 'MB'
