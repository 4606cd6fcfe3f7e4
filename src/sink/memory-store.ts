import type { KeyValueStore } from './context.ts'

/** A store that lies in memory; the clock moves its ends of life. */
export function memoryStore(clock: { now(): number } = { now: () => Date.now() }): KeyValueStore {
  const values = new Map<string, { value: string; untilMs: number }>()
  const live = (key: string) => {
    const found = values.get(key)
    if (found && found.untilMs > clock.now()) return found.value
    values.delete(key)
    return undefined
  }
  return {
    get: async (key) => live(key),
    async set(key, value, { ttlMs }) {
      values.set(key, { value, untilMs: clock.now() + ttlMs })
    },
    async add(key, value, { ttlMs }) {
      if (live(key) !== undefined) return false
      values.set(key, { value, untilMs: clock.now() + ttlMs })
      return true
    },
    async increment(key, { ttlMs }) {
      const next = Number(live(key) ?? 0) + 1
      values.set(key, { value: String(next), untilMs: values.get(key)?.untilMs ?? clock.now() + ttlMs })
      return next
    },
    async delete(key, value) {
      const found = live(key)
      return found !== undefined && (value === undefined || found === value) && values.delete(key)
    },
  }
}
