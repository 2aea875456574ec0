export function copyProject(parts: readonly string[]): string
