/** Splits pieces of NDJSON text into its lines; a piece may end in the middle of a line. */
export function lineSplitter(): (piece: string) => string[] {
  let rest = ''
  return (piece) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    return lines.filter((it) => it !== '')
  }
}
