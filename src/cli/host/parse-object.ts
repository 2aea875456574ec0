/** Parses a JSON object; undefined for any other text. */
export function parseObject(content: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(content)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
