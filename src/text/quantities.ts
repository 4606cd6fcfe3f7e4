/** `1,234`. Takes whole numbers from 0. Without Intl.NumberFormat, which would take 8 MB of memory. */
export function count(value: number): string {
  let text = String(value)
  for (let at = text.length - 3; at > 0; at -= 3) text = `${text.slice(0, at)},${text.slice(at)}`
  return text
}

/** `1 dead letter`, `2 dead letters`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

/** `12 ms`, `1.4 s`, `3 min`, `5 h`, `2 d`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  return coarse(ms)
}

/** `3 min ago`, `in 2 h`, `now`. */
export function relative(atMs: number, nowMs: number): string {
  const ms = nowMs - atMs
  if (Math.abs(ms) < 1_000) return 'now'
  return ms > 0 ? `${coarse(ms)} ago` : `in ${coarse(-ms)}`
}

function coarse(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} d`
}
