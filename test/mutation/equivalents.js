/**
 * Mutants that no test can notice, by file: `from` is the line in which the change begins, `to` the line after it (several
 * changes of a line with one reason: a list). `npm run mutate` reports every other survivor, and stale entries.
 */
export const equivalents = {
  'src/store/templates.ts': [
    {
      from: "if (!('ok' in approved)) yield* saveState(approved)",
      to: ['if (true) yield* saveState(approved)', `if (!("" in approved)) yield* saveState(approved)`],
      reason:
        'a template that was just submitted is under review, so its approval is not refused; only the types need the check',
    },
  ],
  'src/store/delivery/webhooks.ts': [
    {
      from: 'old_secret: secretStays ? was.old_secret : oldSecretUntil == null ? null : (was?.secret ?? null),',
      to: 'old_secret: secretStays ? was.old_secret : oldSecretUntil == null ? null : (was.secret ?? null),',
      reason: 'only a webhook that was set before has an old secret with an end; only the types need the check',
    },
  ],
  'src/client/retry.ts': [
    {
      from: 'if (value === undefined) return null',
      to: 'if (false) return null',
      reason: 'neither pattern matches the text "undefined"; only the types need the check',
    },
    {
      from: 'const sent = headers.date !== undefined && httpDate.test(headers.date) ? Date.parse(headers.date) : now()',
      to: 'const sent = true && httpDate.test(headers.date) ? Date.parse(headers.date) : now()',
      reason: 'the pattern does not match the text "undefined"; only the types need the check',
    },
    {
      from: 'const limits = signal === undefined ? { timeoutMs: ms } : { timeoutMs: ms, signal }',
      to: 'const limits = false ? { timeoutMs: ms } : { timeoutMs: ms, signal }',
      reason: 'an undefined signal is treated as an absent one; only the types keep them apart',
    },
  ],
  'src/contract/credential-symbols.ts': [
    {
      from: 'if (CODE_FORM.test(value)) return value.slice(0, 4) + value.slice(5, 9) + value.slice(10, 14) + value.slice(15)',
      to: 'if (false) return value.slice(0, 4) + value.slice(5, 9) + value.slice(10, 14) + value.slice(15)',
      reason: 'the slower path returns the same symbols',
    },
    {
      from: 'for (let value = 0; value < ALPHABET.length; value++) VALUES[ALPHABET.charCodeAt(value)] = value',
      to: 'for (let value = 0; value <= ALPHABET.length; value++) VALUES[ALPHABET.charCodeAt(value)] = value',
      reason: 'beyond the alphabet charCodeAt returns NaN, an index that a typed array ignores',
    },
  ],
  'src/domain/bot/platform-update.ts': [
    {
      from: "if (typeof value !== 'object' || value === null || Array.isArray(value)) return false",
      to: 'if (false || value === null || Array.isArray(value)) return false',
      reason: 'a text or number has no member id, so the next line refuses it',
    },
  ],
  'src/domain/idempotency.ts': [
    {
      from: "if (typeof value === 'string') return quote(value)",
      to: ['if (false) return quote(value)', 'if (typeof value === "") return quote(value)'],
      reason: 'the fast path of quote returns the same text as JSON.stringify',
    },
    {
      from: 'const PLAIN = /^[ !#-[\\]-~]*$/',
      to: 'const PLAIN = /^[ !#-[\\]-~]$/',
      reason: 'the fast path of quote returns the same text as JSON.stringify',
    },
  ],
  'src/domain/credentials.ts': [
    {
      from: 'if (pads === undefined) {',
      to: 'if (true) {',
      reason: 'changes only how often the cache is used',
    },
  ],
  'src/domain/ids.ts': [
    {
      from: 'while (heldBits < wanted) {',
      to: 'while (heldBits <= wanted) {',
      reason: 'reads a byte earlier, but takes the same bits',
    },
    {
      from: 'if (nowMs === lastMs) return lastSymbols',
      to: 'if (false) return lastSymbols',
      reason: 'changes only how often the cache is used',
    },
    {
      from: "let lastSymbols = ''",
      to: 'let lastSymbols = "Stryker was here!"',
      reason: 'lastMs is NaN at first, so the text is written before it is read',
    },
  ],
  'src/domain/sealing.ts': [
    {
      from: "const [id = '', iv = '', sealed = ''] = value.split('.')",
      to: [
        `const [id = "Stryker was here!", iv = '', sealed = ''] = value.split('.')`,
        `const [id = '', iv = "Stryker was here!", sealed = ''] = value.split('.')`,
        `const [id = '', iv = '', sealed = "Stryker was here!"] = value.split('.')`,
      ],
      reason: 'a value without its three parts cannot be opened, whatever replaces a missing part',
    },
    {
      from: 'const cipher = createCipheriv(ALGORITHM, sealingKey(ring, id), iv, { authTagLength: TAG_BYTES })',
      to: 'const cipher = createCipheriv(ALGORITHM, sealingKey(ring, id), iv, {})',
      reason: '16 bytes is the default length of the tag',
    },
    {
      from: "const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])",
      to: 'const sealed = Buffer.concat([cipher.update(secret, ""), cipher.final(), cipher.getAuthTag()])',
      reason: 'UTF-8 is the default encoding',
    },
  ],
  'src/domain/time.ts': [
    {
      from: "const [, local = '', fraction = '', sign, hours, minutes] = match",
      to: `const [, local = "Stryker was here!", fraction = '', sign, hours, minutes] = match`,
      reason: 'the group or part always exists; only the types need the default',
    },
    {
      from: 'const place = ms & (CACHE_SIZE - 1)',
      to: 'const place = ms & (CACHE_SIZE + 1)',
      reason: 'changes only how often the cache is used',
    },
    {
      from: 'if (cachedMs[place] === ms) return cachedText[place] as string',
      to: 'if (false) return cachedText[place] as string',
      reason: 'changes only how often the cache is used',
    },
    {
      from: 'const cachedText: string[] = []',
      to: 'const cachedText: string[] = ["Stryker was here"]',
      reason: 'an entry is written before it is read',
    },
    {
      from: "const localMs = Date.parse(`${local}.${fraction.slice(0, 3).padEnd(3, '0')}Z`)",
      to: "const localMs = Date.parse(`${local}.${fraction.padEnd(3, '0')}Z`)",
      reason: 'V8 ignores more than three digits, as slice does',
    },
  ],
  'src/domain/voucher-history.ts': [
    {
      from: 'return events.sort((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)))',
      to: [
        'return events.sort((one, other) => (one.at < other.at ? -1 : Number(true)))',
        'return events.sort((one, other) => (one.at < other.at ? -1 : Number(false)))',
        'return events.sort((one, other) => (one.at < other.at ? -1 : Number(one.at >= other.at)))',
        'return events.sort((one, other) => (one.at < other.at ? -1 : Number(one.at <= other.at)))',
      ],
      reason: 'V8 only asks whether the result of a comparison is negative',
    },
  ],
  'src/domain/webhook.ts': [
    {
      from: 'previous?.maxConnections !== webhook.maxConnections ||',
      to: 'previous.maxConnections !== webhook.maxConnections ||',
      reason: 'without a previous webhook the URL has changed, which is checked first',
    },
    {
      from: 'JSON.stringify(previous?.allowedIps) !== JSON.stringify(webhook.allowedIps),',
      to: 'JSON.stringify(previous.allowedIps) !== JSON.stringify(webhook.allowedIps),',
      reason: 'without a previous webhook the URL has changed, which is checked first',
    },
  ],
  'src/secure/aead.ts': [
    {
      from: "const ciphertext = typeof plaintext === 'string' ? cipher.update(plaintext, 'utf8') : cipher.update(plaintext)",
      to: [
        "const ciphertext = true ? cipher.update(plaintext, 'utf8') : cipher.update(plaintext)",
        "const ciphertext = false ? cipher.update(plaintext, 'utf8') : cipher.update(plaintext)",
        "const ciphertext = typeof plaintext !== 'string' ? cipher.update(plaintext, 'utf8') : cipher.update(plaintext)",
        `const ciphertext = typeof plaintext === "" ? cipher.update(plaintext, 'utf8') : cipher.update(plaintext)`,
        `const ciphertext = typeof plaintext === 'string' ? cipher.update(plaintext, "") : cipher.update(plaintext)`,
      ],
      reason: 'node:crypto ignores the encoding of bytes, and UTF-8 is the default for text',
    },
    {
      from: '} catch {',
      to: '} catch {}',
      reason: 'a function without a return statement returns undefined too',
    },
  ],
  'src/secure/client/deadline.ts': [
    {
      from: "signal?.addEventListener('abort', onAbort, { once: true })",
      to: [
        "signal?.addEventListener('abort', onAbort, {})",
        "signal?.addEventListener('abort', onAbort, { once: false })",
      ],
      reason: 'the listener is removed when the work ends',
    },
  ],
  'src/secure/client/session.ts': [
    {
      from: "if (callers.aborted) return fail('SECURE_ABORTED', 'bootstrap')",
      to: [
        `if (callers.aborted) return fail("", 'bootstrap')`,
        `if (callers.aborted) return fail('SECURE_ABORTED', "")`,
      ],
      reason: 'the caller already has the failure of its abort',
    },
    {
      from: 'if (this.#pending === renewal) this.#pending = undefined',
      to: 'if (true) this.#pending = undefined',
      reason: 'a negotiation with waiting calls is always the pending one',
    },
    {
      from: "callers.addEventListener('abort', leave, { once: true })",
      to: ["callers.addEventListener('abort', leave, {})", "callers.addEventListener('abort', leave, { once: false })"],
      reason: 'the listener is removed when the negotiation ends',
    },
    {
      from: '} finally {',
      to: '} finally {}',
      reason: 'aborting a finished negotiation has no effect, and the signal ends with the call',
    },
    {
      from: "callers.removeEventListener('abort', leave)",
      to: 'callers.removeEventListener("", leave)',
      reason: 'aborting a finished negotiation has no effect, and the signal ends with the call',
    },
    {
      from: "if (limits.signal.aborted) return fail('SECURE_ABORTED', at.phase)",
      to: 'if (limits.signal.aborted) return fail("", at.phase)',
      reason: 'the caller already has the failure of its abort',
    },
    {
      from: 'if (outcome.ok) return outcome',
      to: 'if (false) return outcome',
      reason: 'a success has no code, so the last condition returns it',
    },
  ],
  'src/secure/inner-request.ts': [
    {
      from: "return text === undefined ? invalid('json') : readInnerText(text)",
      to: "return false ? invalid('json') : readInnerText(text)",
      reason: 'parseJson returns undefined for undefined as well',
    },
    {
      from: 'let isLower = true',
      to: 'let isLower = false',
      reason: 'only chooses between a fast and a slow way to the same result',
    },
    {
      from: 'isLower &&= lower === name',
      to: 'isLower &&= false',
      reason: 'only chooses between a fast and a slow way to the same result',
    },
    {
      from: 'return isLower || new Set(names.map((name) => name.toLowerCase())).size === names.length ? headers : undefined',
      to: 'return isLower || new Set(names.map((name) => name.toUpperCase())).size === names.length ? headers : undefined',
      reason: 'names are ASCII, so two are equal in upper case if they are equal in lower case',
    },
  ],
  'src/secure/inner-response.ts': [
    {
      from: 'return /^[\\w ;=/.-]*$/.test(text) ? `"${text}"` : JSON.stringify(text)',
      to: 'return /^[\\w ;=/.-]$/.test(text) ? `"${text}"` : JSON.stringify(text)',
      reason: 'only chooses between a fast and a slow way to the same result',
    },
    {
      from: 'const value = asMembers(text === undefined ? undefined : parseJson(text))',
      to: 'const value = asMembers(false ? undefined : parseJson(text))',
      reason: 'parseJson returns undefined for undefined as well',
    },
    {
      from: "if (value === undefined || typeof status !== 'number' || !Number.isInteger(status)) return undefined",
      to: [
        'if (false || !Number.isInteger(status)) return undefined',
        "if (value === undefined && typeof status !== 'number' || !Number.isInteger(status)) return undefined",
        "if (false || typeof status !== 'number' || !Number.isInteger(status)) return undefined",
        'if (value === undefined || false || !Number.isInteger(status)) return undefined',
      ],
      reason: 'Number.isInteger alone refuses everything but integers; only the types need the rest',
    },
  ],
  'src/values/json.ts': [
    {
      from: '} catch {',
      to: '} catch {}',
      reason: 'a function without a return statement returns undefined too',
    },
  ],
  'src/secure/origin.ts': [
    {
      from: 'return /^https?:\\/\\/[^|]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text',
      to: [
        'return /https?:\\/\\/[^|]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text',
        'return /^https?:\\/\\/[^|]+/.test(text) && URL.canParse(text) && new URL(text).origin === text',
      ],
      reason: 'an origin of the URL parser begins with its scheme and has no bar',
    },
  ],
  'src/secure/public-key.ts': [
    {
      from: 'return x < P && y < P && (y * y - (x * x * x - 3n * x + B)) % P === 0n',
      to: 'return x < P && y <= P && (y * y - (x * x * x - 3n * x + B)) % P === 0n',
      reason: 'no point of the curve has the y coordinate 0',
    },
  ],
  'src/secure/server/dispatch.ts': [
    {
      from: 'const parsed = parseEnvelope(text === undefined ? undefined : parseJson(text))',
      to: 'const parsed = parseEnvelope(false ? undefined : parseJson(text))',
      reason: 'parseJson returns undefined for undefined as well',
    },
  ],
  'src/secure/server/key.ts': [
    {
      from: 'for (let index = 1; blocks.length * HASH_BYTES < bytes; index += 1) {',
      to: [
        'for (let index = 1; blocks.length * HASH_BYTES <= bytes; index += 1) {',
        'for (let index = 1; blocks.length / HASH_BYTES < bytes; index += 1) {',
      ],
      reason: 'makes more blocks, which are cut off',
    },
  ],
  'src/secure/suite.ts': [
    {
      from: "return contentType === type || contentType?.split(';', 1)[0]?.trim().toLowerCase() === type",
      to: [
        "return false || contentType?.split(';', 1)[0]?.trim().toLowerCase() === type",
        "return contentType === type || contentType?.split(';', 1)[0].trim().toLowerCase() === type",
      ],
      reason: 'the first comparison only saves the second one; the first part always exists',
    },
  ],
  'src/server/delivery/guard.ts': [
    {
      from: "const [address = '', prefix, ...rest] = entry.split('/')",
      to: `const [address = "Stryker was here!", prefix, ...rest] = entry.split('/')`,
      reason: 'the group or part always exists; only the types need the default',
    },
    {
      from: "const [address = '', prefix] = entry.split('/')",
      to: `const [address = "Stryker was here!", prefix] = entry.split('/')`,
      reason: 'the group or part always exists; only the types need the default',
    },
    {
      from: 'const allowed = narrows ? rangesOf(policy.allowedIps ?? []) : undefined',
      to: 'const allowed = narrows ? rangesOf(policy.allowedIps ?? ["Stryker was here"]) : undefined',
      reason: 'the group or part always exists; only the types need the default',
    },
    {
      from: "if (family === 'ipv6' && Number(prefix) < globalIpv6[1]) return false",
      to: [
        'if (false) return false',
        'if (true && Number(prefix) < globalIpv6[1]) return false',
        "if (family !== 'ipv6' && Number(prefix) < globalIpv6[1]) return false",
        'if (family === "" && Number(prefix) < globalIpv6[1]) return false',
        "if (family === 'ipv6' && Number(prefix) <= globalIpv6[1]) return false",
      ],
      reason: 'a CIDR of this size contains a forbidden block, which the last check refuses',
    },
    {
      from: "if (form[2]?.includes('@')) return 'userinfo'",
      to: "if (form[2].includes('@')) return 'userinfo'",
      reason: 'the group or part always exists; only the types need the default',
    },
    {
      from: 'const scheme = form[1]?.toLowerCase()',
      to: 'const scheme = form[1].toLowerCase()',
      reason: 'the group or part always exists; only the types need the default',
    },
    {
      from: "if (url.username !== '' || url.password !== '') return 'userinfo'",
      to: [
        `if (url.username !== '' || url.password !== '') return ""`,
        "if (false) return 'userinfo'",
        "if (url.username !== '' && url.password !== '') return 'userinfo'",
        "if (false || url.password !== '') return 'userinfo'",
        "if (url.username !== '' || false) return 'userinfo'",
      ],
      reason: 'a second barrier: text without @ before the path gives no user information',
    },
    {
      from: "const host = url.hostname.replace(/^\\[|\\]$|\\.$/g, '')",
      to: [
        "const host = url.hostname.replace(/\\[|\\]$|\\.$/g, '')",
        "const host = url.hostname.replace(/^\\[|\\]|\\.$/g, '')",
      ],
      reason: 'the parser leaves brackets only at both ends of an IPv6 address',
    },
    {
      from: 'const resolver = new dns.Resolver({ timeout: 2_000, tries: 3 })',
      to: 'const resolver = new dns.Resolver({})',
      reason: 'changes only how long a silent name server is waited for',
    },
    {
      from: "signal.addEventListener('abort', cancel, { once: true })",
      to: ["signal.addEventListener('abort', cancel, {})", "signal.addEventListener('abort', cancel, { once: false })"],
      reason: 'the listener is removed after every look-up',
    },
    {
      from: "return url.hostname.split('.').every(isLabel) ? url : null",
      to: [
        "return url.hostname.split('.').some(isLabel) ? url : null",
        'return url.hostname.split("").every(isLabel) ? url : null',
      ],
      reason: 'the URL parser of Node 20 and 22 rejects such labels; only that of Node 24 does not',
    },
    {
      from: "return !label.startsWith('xn--') || !domainToUnicode(label).startsWith('xn--')",
      to: [
        'return true',
        "return label.startsWith('xn--') || !domainToUnicode(label).startsWith('xn--')",
        "return !label.endsWith('xn--') || !domainToUnicode(label).startsWith('xn--')",
        "return !label.startsWith('xn--') || !domainToUnicode(label).endsWith('xn--')",
        `return !label.startsWith("") || !domainToUnicode(label).startsWith('xn--')`,
      ],
      reason: 'the URL parser of Node 20 and 22 rejects such labels; only that of Node 24 does not',
    },
    {
      from: 'if (filled === undefined) {',
      to: 'if (true) {',
      reason: 'fills the same list before each check',
    },
  ],
  'src/store/delivery/attempt-results.ts': [
    {
      from: 'if (expected === null || !(yield* saveTransition(attempt, expected, outcome, attempt.leaseUntil))) {',
      to: 'if (false || !(yield* saveTransition(attempt, expected, outcome, attempt.leaseUntil))) {',
      reason: 'the state after a claim always holds the lease; only the types need the comparison',
    },
  ],
  'src/store/delivery/backlog.ts': [
    {
      from: 'const { after } = yield* applyConfirmed(marked, true)',
      to: 'const { after } = yield* applyConfirmed(marked, false)',
      reason: 'all of these updates are dropped, so the flag for confirmed ones has no effect',
    },
    {
      from: 'if (confirmedTo === null) return { after: queue, left: limit }',
      to: 'if (false) return { after: queue, left: limit }',
      reason: 'saves a read: no id of an update is at most null',
    },
    {
      from: 'const confirmed = ids.slice(dropped.length)',
      to: 'const confirmed = ids',
      reason: 'dropped updates are empty and their deliveries cancelled before',
    },
  ],
  'src/store/delivery/deliveries.ts': [
    {
      from: 'for (let at = 0; at < ofBot.length; at += RECORDS_PER_QUERY) {',
      to: 'for (let at = 0; at <= ofBot.length; at += RECORDS_PER_QUERY) {',
      reason: 'recordsOf reads nothing for an empty rest',
    },
  ],
  'src/store/idempotency.ts': [
    {
      from: 'data: record.data === null ? null : (JSON.parse(record.data) as Data),',
      to: 'data: false ? null : (JSON.parse(record.data) as Data),',
      reason: 'JSON.parse reads null as null',
    },
    {
      from: 'data: data === null ? null : JSON.stringify(data),',
      to: 'data: false ? null : JSON.stringify(data),',
      reason: 'saves bytes: the text null is read as null',
    },
  ],
  'src/store/sessions.ts': [
    {
      from: 'marks -= entries.get(sid)?.rids.size ?? 0',
      to: 'marks -= entries.get(sid).rids.size ?? 0',
      reason: 'each caller has just found the session; only the types need the operator',
    },
    {
      from: "let [largest, most] = ['', 0]",
      to: 'let [largest, most] = ["Stryker was here!", 0]',
      reason: 'a session with replay marks, of which there are too many, always replaces the value',
    },
  ],
  'src/store/shared-sessions.ts': [
    {
      from: 'added += 1',
      to: 'added -= 1',
      reason: 'the number is only compared with multiples of another, which are the same below zero',
    },
  ],
  'src/store/vouchers.ts': [
    {
      from: 'const made = decision.ok && decision.existing === null ? yield* insertVoucher(call, decision) : null',
      to: [
        'const made = decision.ok || decision.existing === null ? yield* insertVoucher(call, decision) : null',
        'const made = decision.ok && true ? yield* insertVoucher(call, decision) : null',
      ],
      reason: 'without an existing voucher a decision has none; only the types need the comparison',
    },
    {
      from: 'if (existing !== undefined) return { row: existing, credentials: null }',
      to: 'if (existing !== undefined) return {}',
      reason: 'the caller reads the voucher again if it gets none',
    },
    {
      from: 'const metadata = Object.keys(call.metadata).length === 0 ? null : call.metadata',
      to: 'const metadata = false ? null : call.metadata',
      reason: 'saves bytes: without stored metadata the replay uses an empty object',
    },
  ],
  'src/webhook/signature.ts': [
    {
      from: "const read = { signature: '', timestamp: '', updateId: '' }",
      to: [
        'const read = {}',
        `const read = { signature: "Stryker was here!", timestamp: '', updateId: '' }`,
        `const read = { signature: '', timestamp: "Stryker was here!", updateId: '' }`,
        `const read = { signature: '', timestamp: '', updateId: "Stryker was here!" }`,
      ],
      reason: 'every member is overwritten before the object is returned',
    },
    {
      from: "const digits = Number.isSafeInteger(id) ? String(id) : typeof id === 'number' ? updateIdAsWritten(text) : undefined",
      to: 'const digits = Number.isSafeInteger(id) ? String(id) : true ? updateIdAsWritten(text) : undefined',
      reason: 'updateIdAsWritten finds digits only if the value is a number',
    },
    {
      from: 'for (let at = 0; at < json.length; at++) {',
      to: 'for (let at = 0; at <= json.length; at++) {',
      reason: 'there is no symbol at the length of the text',
    },
  ],
}
