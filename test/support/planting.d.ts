/** The folder of the project, with a slash at the end. */
export const root: string
export function copyProject(parts: readonly string[]): string
export function replaceOnce(
  source: string,
  change: { readonly file: string; readonly from: string; readonly to: string },
): string
