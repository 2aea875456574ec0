/** Creates a function that splits chunks of NDJSON into lines; a chunk may end within a line. */
export function lineSplitter(): (piece: string) => string[] {
  let rest = ''
  return (piece) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    return lines.filter((it) => it !== '')
  }
}
