import { types } from 'node:util'

type Method = (...args: never[]) => unknown

/**
 * Runs a call of the test. The stack of its error begins where the test called `method`, which a timer or a socket would
 * not know, and continues with the frames of this library.
 */
export async function fromCaller<T>(method: Method, call: () => T): Promise<Awaited<T>> {
  const caller: { stack?: string } = {}
  Error.captureStackTrace(caller, method)
  try {
    return await call()
  } catch (error) {
    if (!types.isNativeError(error)) throw error
    const frames = [...framesOf(caller.stack), ...framesOf(error.stack)]
    error.stack = [`${error.name}: ${error.message}`, ...new Set(frames)].join('\n')
    throw error
  }
}

const framesOf = (stack = '') => stack.split('\n').filter((line) => /^ {4}at /.test(line))

/** Wraps each function of an object, and of the objects in it. */
export function fromCallers<T extends object>(methods: T): T {
  const wrapped = Object.entries(methods).map(([name, member]) => {
    if (typeof member !== 'function') return [name, fromCallers(member)]
    const method: Method = (...args) => fromCaller(method, () => member(...args))
    const { pages } = member
    return [name, pages ? Object.assign(method, { pages: (...args: never[]) => pagesOf(pages(...args)) }) : method]
  })
  return Object.fromEntries(wrapped) as T
}

/** The stack of an error begins where the test requested the page. */
function pagesOf(pages: AsyncGenerator): AsyncGenerator {
  const request = pages.next.bind(pages)
  const next = () => fromCaller(next, request)
  return Object.assign(pages, { next })
}
