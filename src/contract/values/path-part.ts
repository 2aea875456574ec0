/** Decodes percent escapes in a part of a path; returns a part with a malformed escape unchanged. */
export function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
