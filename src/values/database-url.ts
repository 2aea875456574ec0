const PLACE = /^(\[[^\]]*\]|[^:/,[\]\s]*)(?::(\d{0,5}))?(?:\/(.*))?$/s
/** Parameters of libpq. Before any other word, `?` or `&` may be a character of the password. */
const PARAMETERS =
  /[?&;](?:[a-z]+_[a-z_]+|ssl[a-z]+|user|pass[a-z]*|pwd|host(?:addr)?|port|dbname|options|service|keepalives)=/i
/** A whole URL with parameters: an `@` after it may be a character of a parameter's value. */
const WHOLE = /^(?:[^:?]*|.*@(?:\[[^\]]*\]|[^:/@?]*)(?::\d*)?(?:\/[^?]*)?)\?.*=/s

export const DATABASE_URL_FORM = 'a URL such as postgres://user@host:5432/database, with one host and without quotes'
export const DATABASE_URL_ESCAPES = 'In user, password and parameters write % as %25, @ as %40, / as %2F and : as %3A.'

/**
 * Reads a PostgreSQL URL. Its password reaches from the first colon to the last `@`: an unescaped character in it must
 * not make a piece of the password part of the host or database, which messages show.
 * @returns the parameters of libpq that the URL sets; undefined if it is malformed or an `@` may belong to a parameter
 */
export function parseDatabaseUrl(url: string): ReadonlyMap<string, string> | undefined {
  const [, rest = ','] = /^postgres(?:ql)?:\/\/(.*)$/s.exec(url) ?? []
  const end = rest.lastIndexOf('@')
  const credentials = rest.slice(0, Math.max(end, 0))
  const [, user = '', password = ''] = /^([^:]*):?(.*)$/s.exec(credentials) ?? []
  const [, place = '', query = ''] = /^([^?]*)\??(.*)$/s.exec(rest.slice(end + 1)) ?? []
  const [, host, port = '', dbname = ''] = PLACE.exec(place) ?? []
  if (host === undefined || PARAMETERS.test(credentials) || WHOLE.test(credentials)) return undefined
  const parts = Object.entries({ user, password, host: host.replace(/^\[(.*)\]$/, '$1'), port, dbname })
  const named = query.split('&').map((it) => [it.split('=', 1).join(), it.replace(/^[^=]*=?/, '')] as const)
  try {
    const set = [...named, ...parts].filter(([, value]) => value !== '')
    return new Map(set.map(([name, value]) => [decodeURIComponent(name), decodeURIComponent(value)]))
  } catch {
    return undefined
  }
}
