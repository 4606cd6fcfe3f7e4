import { printable } from '../../sink/index.ts'

/** 1st, 2nd, 3rd, 4th, 11th. */
export function ordinal(count: number): string {
  const tens = count % 100
  const ending = tens > 10 && tens < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th')
  return `${count}${ending}`
}

const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const

/** The two largest units: `3 min 12 s`, `2 d 4 h`, `0 s`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  const first = UNITS.findIndex(([length]) => seconds >= length)
  if (first === -1) return '0 s'
  const [length, unit] = UNITS[first]!
  const whole = `${Math.floor(seconds / length)} ${unit}`
  const [nextLength, nextUnit] = UNITS[first + 1] ?? [1, '']
  const rest = Math.floor((seconds % length) / nextLength)
  return rest === 0 || nextUnit === '' ? whole : `${whole} ${rest} ${nextUnit}`
}

/** `1 try`, `6 tries`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** The first of them, and how many more there are: `a, b and 3 more`. */
export function listed(items: readonly string[], most = 4): string {
  const shown = items.slice(0, most).join(', ')
  return items.length > most ? `${shown} and ${items.length - most} more` : shown
}

/** At most `most` UTF-16 units, cut between characters, with … where something is missing. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text.toWellFormed()
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`.toWellFormed()
}

/** One line without control characters and double spaces. */
export function oneLine(text: string, most: number): string {
  return shorten(
    printable(text.slice(0, most * 4))
      .replace(/[\s\u2028\u2029]+/g, ' ')
      .trim(),
    most,
  )
}

/** Another program's message as a part of a sentence: one line, without what RPC puts before it and the full stop at its end. */
export function clause(message: string, most = 110): string {
  return oneLine(withoutRpc(message), most).replace(/(?<![.:;,\s])[.:;,\s]+$/, '')
}

export function withoutRpc(message: string): string {
  return message.replace(/\brpc error: code = \w{1,40} desc = /g, '')
}

/** `: clause`, or nothing. */
export function because(message: string, most = 110): string {
  const why = clause(message, most)
  return why === '' ? '' : `: ${why}`
}

/** A sentence of another program's message, with a full stop. */
export function sentence(message: string, most = 300): string {
  const said = oneLine(message, most)
  return said === '' || /[.!?…]$/.test(said) ? said : `${said}.`
}

/** `DiskPressure` as words: `disk pressure`. What is no name in camel case stays as it is. */
export function words(name: string): string {
  if (!/^(?:[A-Z][a-z0-9]+)+$/.test(name)) return name
  return name.replace(/(?!^)[A-Z]/g, (it) => ` ${it}`).toLowerCase()
}
