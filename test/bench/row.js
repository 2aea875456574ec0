/** Makes a row of the result table. Times and sizes meet their target below it, rates above it. */
export function rowOf({ value, reference, target, unit, ...rest }) {
  const ratio = value / reference
  return { ...rest, value, reference, ratio, target, unit, held: isAtMost(unit) ? ratio <= target : ratio >= target }
}

export const isAtMost = (unit) => ['us', 'ms', 'kB', 'MB'].includes(unit)
