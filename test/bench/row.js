/** A row of the table: times and sizes must be below their target, rates above. */
export function rowOf({ value, reference, target, unit, ...rest }) {
  const ratio = value / reference
  return { ...rest, value, reference, ratio, target, unit, held: isAtMost(unit) ? ratio <= target : ratio >= target }
}

export const isAtMost = (unit) => unit === 'ms' || unit === 'MB'
