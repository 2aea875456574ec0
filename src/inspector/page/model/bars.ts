/** Rectangles of a bar chart; a value above 0 has a height of at least one unit. */
export function barsOf(
  items: readonly { readonly issued: number; readonly redeemed: number }[],
  width: number,
  height: number,
) {
  const highest = Math.max(...items.flatMap((it) => [it.issued, it.redeemed]))
  const slot = width / items.length
  return items.flatMap((counts, index) =>
    (['issued', 'redeemed'] as const).map((name, place) => {
      const high = counts[name] && Math.max(1, (counts[name] / highest) * height)
      return { class: name, x: (index + 0.1 + place * 0.4) * slot, y: height - high, width: slot * 0.4, height: high }
    }),
  )
}
