/** A row of the table: a time must stay below its target, a rate above. */
export function rowOf({ value, reference, target, unit, ...rest }) {
  const ratio = value / reference
  return { ...rest, value, reference, ratio, target, unit, held: unit === 'ms' ? ratio <= target : ratio >= target }
}
