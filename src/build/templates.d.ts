export function compileTemplates(code: string): string
