export function revision(root: string): { readonly date: string; readonly commit: string }
