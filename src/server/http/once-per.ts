/** Makes a value once per key and keeps it while the key lives: servers of one process share what is slow to compile. */
export function oncePer<K extends object, V extends object>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, V>()
  return (key) => {
    const kept = made.get(key)
    if (kept !== undefined) return kept
    const value = make(key)
    made.set(key, value)
    return value
  }
}
