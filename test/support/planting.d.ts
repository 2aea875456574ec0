/** The folder of the project, with a slash at the end. */
export const root: string
export function copyProject(parts: readonly string[]): string
