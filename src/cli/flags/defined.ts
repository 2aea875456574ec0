type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Copies an object without the members whose value is undefined. */
export function defined<T extends object>(members: T): Defined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>
}
