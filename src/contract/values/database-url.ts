/** A PostgreSQL URL with its parts decoded; undefined for a part that the URL leaves out. */
interface DatabaseUrl {
  readonly user: string | undefined
  readonly password: string | undefined
  readonly host: string | undefined
  readonly port: string | undefined
  readonly database: string | undefined
  readonly parameters: ReadonlyMap<string, string>
  /** The passwords of the URL, as written and decoded. */
  readonly secrets: readonly string[]
}

const PLACE = /^(\[[^\]]*\]|[^:/,[\]\s]*)(?::(\d{0,5}))?(?:\/(.*))?$/s
/** Where parameters begin: before another word, `?` may be a character of the password. */
const PARAMETERS = /\?(?:[a-z]+_[a-z_]+|ssl[a-z]+|user|pass(?:word|file)|host(?:addr)?|port|dbname|options|service)=/
const SECRET_PARAMETERS = ['password', 'sslpassword']

export const DATABASE_URL_FORM = 'a URL such as postgres://user@host:5432/database, with one host and without quotes'
export const DATABASE_URL_ESCAPES = 'In user, password and parameters write % as %25, @ as %40, / as %2F and : as %3A.'

/**
 * Reads a PostgreSQL URL. The password reaches from the first colon to the last `@`, so that no unescaped character
 * moves a part of it into a part that messages show.
 * @returns undefined for a malformed URL, or with an `@` that may belong to the password or to a parameter
 */
export function parseDatabaseUrl(url: string): DatabaseUrl | undefined {
  const [, rest = ','] = /^postgres(?:ql)?:\/\/(.*)$/s.exec(url) ?? []
  const end = rest.lastIndexOf('@')
  const credentials = rest.slice(0, Math.max(end, 0))
  const [user = '', ...password] = credentials.split(':')
  const [location = '', ...query] = rest.slice(end + 1).split('?')
  const place = PLACE.exec(location)
  if (place === null || PARAMETERS.test(credentials)) return undefined
  const [, host = '', port = '', database = ''] = place
  try {
    const part = (text: string) => (text === '' ? undefined : decodeURIComponent(text))
    const pairs = query.flatMap((it) => it.split('&')).filter(Boolean)
    const named = pairs.map((it) => [decodeURIComponent(it.split('=', 1).join()), it.replace(/^[^=]*=?/, '')] as const)
    const parameters = new Map(named.map(([name, it]) => [name, decodeURIComponent(it)]))
    const hidden = named.flatMap(([name, it]) => (SECRET_PARAMETERS.includes(name) ? it : []))
    const secrets = [password.join(':'), ...hidden].filter(Boolean)
    return {
      user: part(user),
      password: part(password.join(':')) ?? (parameters.get('password') || undefined),
      host: part(host.replace(/^\[(.*)\]$/, '$1')),
      port: part(port),
      database: part(database),
      parameters,
      secrets: [...secrets, ...secrets.map((it) => decodeURIComponent(it))],
    }
  } catch {
    // A malformed percent sign.
    return undefined
  }
}
